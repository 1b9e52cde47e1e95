//! IDL to Rust, on all processors.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxorb_idl::diagnostic::Severity;
use oxorb_idlgen::{Builder, Error};

use crate::progress::Progress;
use crate::sources::Source;

/// Result of one file.
pub(crate) enum Outcome {
    /// Generated Rust, and its location.
    Rust { module: String, lines: usize },
    /// Codes of all errors, and the whole message.
    Refused { codes: BTreeSet<&'static str>, message: String },
}

/// Returns the results of all files, source by source, in the order of the files. The Rust is written to disk.
pub(crate) fn all(sources: &[Source], work: &Path) -> Result<Vec<Vec<Outcome>>, String> {
    let jobs: Vec<(usize, usize)> = (0..sources.len())
        .flat_map(|source| (0..sources[source].files.len()).map(move |file| (source, file)))
        .collect();
    let (next, progress) = (AtomicUsize::new(0), Progress::new());
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, |all| all.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&(source, file)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = one(&sources[source], file, work);
                    let mut done = done.lock().expect("no thread panics with it");
                    done.push((source, file, outcome));
                    progress.now("generating", done.len(), jobs.len());
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics with it");
    done.sort_by_key(|(source, file, _)| (*source, *file));
    let mut outcomes: Vec<Vec<Outcome>> = sources.iter().map(|_| Vec::new()).collect();
    for (source, _, outcome) in done {
        outcomes[source].push(outcome?);
    }
    Ok(outcomes)
}

fn one(source: &Source, index: usize, work: &Path) -> Result<Outcome, String> {
    let file = &source.files[index];
    let module = module(source.name_of(file));
    let folder = work.join(source.name).join("src");
    let mut builder = Builder::new().joined(&module).out_dir(&folder);
    for folder in &source.include {
        builder = builder.include(folder);
    }
    let mut lenient = oxorb_idl::Lenient {
        keyword_case: source.old,
        named_like_scope: source.old,
        parameter_named_like_type: source.old,
        member_named_like_type: source.old,
        ..oxorb_idl::Lenient::default()
    };
    // A first line as in the golden cases of tests/idl-ui.
    let text = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let text = String::from_utf8_lossy(&text);
    let first = text.lines().next().unwrap_or_default();
    let mut words = first.strip_prefix("// options:").unwrap_or_default().split_whitespace();
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        match (word, value) {
            ("-I", folder) => builder = builder.include(source.folder.join("idl-ui").join(folder)),
            ("-D", definition) => builder = builder.define(definition),
            ("--lenient", name) if lenient.allow(name) => {}
            _ => {
                return Err(format!("{}: unknown option `{word} {value}`", file.display()));
            }
        }
    }
    match builder.lenient(lenient).file(file).generate() {
        Ok(generated) => {
            let write = |error| format!("{}: {error}", folder.display());
            generated.files.write().map_err(write)?;
            let lines = generated.files.iter();
            let lines = lines.map(|(_, text)| text.lines().count()).sum();
            Ok(Outcome::Rust { module, lines })
        }
        Err(Error::Idl(failed)) => {
            let problems = failed.report.diagnostics.iter().map(|found| &found.problem);
            let codes = problems
                .filter(|problem| problem.severity() == Severity::Error)
                .map(|problem| problem.code().0)
                .collect();
            Ok(Outcome::Refused { codes, message: failed.to_string() })
        }
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// Returns the module name, `COS_CosNaming` for `COS/CosNaming.idl`, which is unique.
fn module(name: &str) -> String {
    let stem = name.strip_suffix(".idl").unwrap_or(name);
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    stem.chars().map(letter).collect()
}

/// Returns the path of a module's Rust.
pub(crate) fn path(work: &Path, source: &Source, module: &str) -> PathBuf {
    work.join(source.name).join("src").join(module).with_extension("rs")
}
