//! The record that a library exports, for the facade's macro `export!`.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use oxorb_sys::library::{Arguments, Export, Main};

use super::MARK;
use super::facts::OWN;

/// Exit status of a library whose locality panicked, the same as for a Rust program that panics.
const PANICKED: i32 = 101;

/// Returns the record of a library.
pub const fn exported(interfaces: &str, main: Main) -> Export {
    let [version, compiler, target, profile] = OWN;
    let facts = [version, compiler, target, profile, interfaces];
    Export::new(MARK, &facts, main)
}

/// Runs the locality of a library. Panics do not leave this function.
pub fn serve(arguments: &Arguments<'_>, run: impl FnOnce(Vec<String>) -> ExitCode) -> i32 {
    let arguments = arguments.to_vec();
    let ended = catch_unwind(AssertUnwindSafe(|| run(arguments)));
    // At exit, the process flushes only the standard output of its own standard library. This library has a separate
    // copy, which must be flushed here.
    let _ = std::io::stdout().flush();
    ended.map_or(PANICKED, |code| i32::from(code != ExitCode::SUCCESS))
}
