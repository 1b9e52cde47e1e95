//! Exchange of references between the processes of a plan without managers, through files in a shared directory.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use oxorb_core::{Interface, ObjectRef, Orb};
use oxorb_deploy::plan::Plan;

use crate::part::instance_elsewhere;
use crate::{Provided, References, whole_file};

/// Maximum size in octets of a file.
const MOST_OCTETS: u64 = 1 << 20;

/// Time limit for an object to answer that it exists.
const ANSWER: Duration = Duration::from_secs(2);

/// A directory with a file for each port that provides an object to another process. The files are named
/// `INSTANCE.PORT.ior`.
pub(crate) struct Directory {
    path: PathBuf,
    /// Files that this process wrote, and their contents.
    written: Vec<(PathBuf, String)>,
    /// Known ports of other processes.
    known: HashMap<Port, Known>,
}

/// An instance and one of its ports.
type Port = (String, String);

struct Known {
    text: String,
    object: ObjectRef,
}

impl Directory {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Directory { path: path.into(), written: Vec::new(), known: HashMap::new() }
    }

    /// Writes a file for each reference to which other processes connect.
    pub(crate) fn publish(&mut self, provided: &[Provided]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for one in provided {
            let file = self.file(&one.instance, &one.port);
            let ior = one.reference.to_ior();
            whole_file::write(&file, &ior)?;
            self.written.push((file, ior));
        }
        Ok(())
    }

    /// Removes the files that this process wrote, except those that another process has replaced.
    pub(crate) fn withdraw(&mut self) {
        for (file, ior) in self.written.drain(..) {
            whole_file::remove(file, &ior);
        }
    }

    /// Reads the references that other processes of the plan provide, and reports whether there is a new one. A
    /// reference whose object does not answer is ignored, because it may be left from an earlier run.
    pub(crate) fn refresh(&mut self, orb: &Orb, plan: &Plan) -> bool {
        let mut is_new = false;
        for (instance, port) in wanted(plan) {
            let Some(text) = whole_file::read(&self.file(&instance, &port), MOST_OCTETS) else {
                continue;
            };
            let key = (instance, port);
            if self.known.get(&key).is_some_and(|known| known.text == text) {
                continue;
            }
            let Ok(object) = orb.string_to_object(text.trim()) else {
                continue;
            };
            if matches!(object.with_timeout(ANSWER).non_existent(), Ok(false)) {
                self.known.insert(key, Known { text, object });
                is_new = true;
            }
        }
        is_new
    }

    /// Returns the used ports of other processes whose references are not known yet.
    pub(crate) fn missing(&self, plan: &Plan) -> Vec<String> {
        let unknown = wanted(plan).into_iter().filter(|port| !self.known.contains_key(port));
        unknown.map(|(instance, port)| format!("{instance}.{port}")).collect()
    }

    /// Returns the known references, by connection.
    pub(crate) fn references(&self, plan: &Plan) -> References {
        let mut all = References::new();
        for connection in &plan.connection {
            for external in &connection.external_reference {
                let instance = instance_elsewhere(external).map(str::to_owned);
                let port = external.port_name.clone();
                let known = instance.zip(port).and_then(|port| self.known.get(&port));
                if let Some(known) = known {
                    let of = all.entry(connection.name.clone()).or_default();
                    of.push(known.object.clone());
                }
            }
        }
        all
    }

    fn file(&self, instance: &str, port: &str) -> PathBuf {
        self.path.join(format!("{}.{}.ior", escaped(instance), escaped(port)))
    }
}

/// Returns the ports of other processes to which this part of a plan connects.
fn wanted(plan: &Plan) -> Vec<Port> {
    let mut all = Vec::new();
    for connection in &plan.connection {
        let mut inside = connection.internal_endpoint.iter();
        if inside.all(|end| end.provides()) {
            continue;
        }
        for external in &connection.external_reference {
            if let (true, Some(instance), Some(port)) = (
                external.provider.unwrap_or(true),
                instance_elsewhere(external),
                &external.port_name,
            ) {
                all.push((instance.to_owned(), port.clone()));
            }
        }
    }
    all
}

/// Returns a name in a form for file names: all characters except letters, digits, `-` and `_` become `%XX`.
fn escaped(name: &str) -> String {
    let octets = name.bytes().map(|octet| match octet {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(octet).to_string(),
        octet => format!("%{octet:02X}"),
    });
    octets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_stay_within_the_directory_and_differ() {
        assert_eq!(escaped("gps-1_b"), "gps-1_b");
        assert_eq!(escaped("../a b"), "%2E%2E%2Fa%20b");
        assert_ne!(escaped("a.b"), escaped("a%2Eb"));
    }
}
