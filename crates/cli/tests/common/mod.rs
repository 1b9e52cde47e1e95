//! `oxorb sched` run as people and programs do.

use std::process::{Command, Output, Stdio};

pub(crate) fn sched(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("sched")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

pub(crate) fn text(octets: &[u8]) -> String {
    String::from_utf8(octets.to_vec()).expect("the command prints UTF-8")
}

/// What it prints when it succeeds and has nothing to complain of.
pub(crate) fn good(args: &[&str]) -> String {
    let output = sched(args);
    assert_eq!(text(&output.stderr), "", "{args:?}");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&output.stdout)
    );
    text(&output.stdout)
}
