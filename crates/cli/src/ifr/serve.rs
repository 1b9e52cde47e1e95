//! `oxorb ifr serve`: serves the repository as CORBA objects, and reloads it after changes.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oxorb::rt::ThreadPurpose;
use oxorb::{Interface as _, Orb};
use oxorb_ifr::{INITIAL_NAME, Repository, Served, Store};
use serde_json::json;

use super::Place;
use crate::listening::{Access, Listening, urls};
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Format, at_file, print, print_line};

pub(super) fn serve(
    place: &Place,
    listening: &Listening,
    port: u16,
    ior_file: Option<PathBuf>,
    watch: Duration,
    format: Format,
) -> Done {
    // The store is closed while the repository is served, so that other commands can load IDL.
    let mut seen = Stamp::of(&place.store);
    let repository = place.repository()?;
    let count = repository.entries().count();
    let builder = listening.at(Orb::builder(), port);
    let orb = with_args(builder.listen_late()).build()?;
    let served = oxorb_ifr::serve(&orb, repository)?;
    let root = served.reference();
    if let Some(file) = ior_file {
        std::fs::write(&file, root.to_ior()).map_err(|error| at_file(&file, error))?;
    }
    let urls = urls(root.reference(), INITIAL_NAME);
    // Report read-only access, because clients cannot change the repository.
    let access = Access::of(&orb, true);
    match format {
        Format::Text => {
            print(format_args!("serving {count} objects at {}\n", urls.join(" ")))?;
            access.print()?;
        }
        Format::Json => print_line(&json!({
            "event": "serving",
            "corbaloc": urls,
            "ior": root.to_ior(),
            "objects": count,
            "access": access.json(),
        }))?,
    }
    if !watch.is_zero() {
        let store = place.store.clone();
        orb.start_thread(ThreadPurpose::Watcher, "oxorb-watch", move || {
            loop {
                std::thread::sleep(watch);
                let now = Stamp::of(&store);
                if now.is_none() || now == seen {
                    continue;
                }
                // Update `seen` before reading, so that changes made during the read are detected next time.
                seen = now;
                // After an error, the previous contents continue to be served. Serving also continues if the message
                // cannot be written.
                let _ = match (reload(&store, &served), format) {
                    (Ok(count), Format::Text) => print(format_args!("serving {count} objects\n")),
                    (Ok(count), Format::Json) => {
                        print_line(&json!({ "event": "changed", "objects": count }))
                    }
                    (Err(error), Format::Text) => {
                        let _ = writeln!(anstream::stderr(), "not reloaded: {error}");
                        Ok(())
                    }
                    (Err(error), Format::Json) => {
                        print_line(&json!({ "event": "failure", "why": error.to_string() }))
                    }
                };
            }
        })?;
    }
    heed_signals(&orb)?;
    orb.run();
    Ok(())
}

/// Stamp of a store's file, which changes when the store is written to.
#[derive(PartialEq)]
struct Stamp(SystemTime, u64);

impl Stamp {
    fn of(store: &Path) -> Option<Self> {
        let facts = std::fs::metadata(store).ok()?;
        Some(Stamp(facts.modified().ok()?, facts.len()))
    }
}

fn reload(store: &Path, served: &Served) -> Result<usize, oxorb_ifr::Error> {
    let repository = Repository::new(&Store::read(store)?)?;
    let count = repository.entries().count();
    served.replace(repository)?;
    Ok(count)
}
