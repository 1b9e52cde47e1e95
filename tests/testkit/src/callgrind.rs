//! Instructions of a test, counted by valgrind's callgrind in a separate process.

use std::process::{Command, Stdio};

use crate::peers::missing;
use crate::process::rerun;

/// Returns the instructions of this test program when it runs `test` alone, with `variable` set to `value`; `None`
/// without valgrind.
///
/// # Panics
/// If the test fails, or if `OXORB_REQUIRE_TOOLS` requires valgrind and it is missing.
pub fn instructions(test: &str, variable: &str, value: &str) -> Option<u64> {
    let test = rerun(test);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(test.get_program())
        .args(test.get_args())
        .env(variable, value)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            missing("valgrind", &error.to_string());
            return None;
        }
    };
    let log = String::from_utf8_lossy(&output.stderr);
    let count = log.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.unwrap_or_else(|| panic!("no count in\n{log}"));
    assert!(output.status.success(), "{log}");
    Some(count.trim().parse().expect("callgrind's count is a number"))
}
