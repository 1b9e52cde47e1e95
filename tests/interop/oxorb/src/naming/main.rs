//! OxORB's client of name servers: runs every check by name against any ORB's server, and prints one line for each.
#![forbid(unsafe_code)]

mod checks;

use std::fmt::Debug;
use std::process::ExitCode;
use std::time::Duration;

use oxorb::Orb;

/// Reason of a failed check.
struct Failure(String);

type Result<T = ()> = core::result::Result<T, Failure>;

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(format!("expected no exception, got {error}"))
    }
}

fn holds(condition: bool, what: &str) -> Result {
    match condition {
        true => Ok(()),
        false => Err(Failure(format!("expected {what}"))),
    }
}

fn same<T: Debug + PartialEq>(what: &str, expected: T, got: T) -> Result {
    let text = format!("{what} {expected:?}, got {got:?}");
    holds(expected == got, &text)
}

/// Target and results of the checks.
struct Checks {
    orb: Orb,
    url: String,
    other: String,
    skip: Vec<String>,
    failures: u32,
}

impl Checks {
    fn check(&mut self, name: &str, run: impl FnOnce(&Self) -> Result) {
        if self.skip.iter().any(|skipped| skipped == name) {
            return;
        }
        match run(self) {
            Ok(()) => println!("PASS {name}"),
            Err(Failure(why)) => {
                println!("FAIL {name}: {why}");
                self.failures += 1;
            }
        }
    }
}

fn main() -> ExitCode {
    std::thread::spawn(|| {
        // Time limit, even without the harness.
        std::thread::sleep(Duration::from_secs(300));
        std::process::exit(3);
    });
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(Failure(why)) => {
            println!("FAIL client: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<u32> {
    let orb = Orb::builder()
        .round_trip_timeout(Duration::from_secs(10))
        .args(std::env::args().skip(1))
        .build()?;
    let mut checks = Checks {
        orb: orb.clone(),
        url: String::new(),
        other: String::new(),
        skip: Vec::new(),
        failures: 0,
    };
    let mut args = orb.args().iter().cloned();
    while let (Some(name), value) = (args.next(), args.next().unwrap_or_default()) {
        match name.as_str() {
            "--url" => checks.url = value,
            "--other" => checks.other = value,
            "--skip" => checks.skip = value.split(',').map(str::to_owned).collect(),
            other => return Err(Failure(format!("unknown argument {other}"))),
        }
    }
    checks.run()?;
    orb.shutdown(true)?;
    Ok(checks.failures)
}
