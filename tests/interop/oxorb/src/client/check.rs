//! Checks and their results.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use oxorb::SystemException;
use oxorb_interop::Args;

/// Reason of a failed check.
pub(crate) struct Failure(String);

pub(crate) type Result<T = ()> = core::result::Result<T, Failure>;

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(format!("expected no exception, got {error}"))
    }
}

/// Returns a failure with this text.
pub(crate) fn fail<T>(why: impl Into<String>) -> Result<T> {
    Err(Failure(why.into()))
}

/// Compares values by their text, so that negative zero differs from zero.
pub(crate) fn same<T: Debug + ?Sized>(what: &str, expected: &T, got: &T) -> Result {
    let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
    if expected == got {
        return Ok(());
    }
    let brief = |text: &str| text.chars().take(400).collect::<String>();
    fail(format!("{what}: expected {}, got {}", brief(&expected), brief(&got)))
}

pub(crate) fn holds(condition: bool, what: &str) -> Result {
    if condition { Ok(()) } else { fail(format!("expected {what}")) }
}

/// Returns the object of a reference that must not be nil.
pub(crate) fn some<T>(reference: Option<T>) -> Result<T> {
    reference.ok_or(Failure("expected a reference, got nil".to_owned()))
}

/// Waits for a condition that results from a oneway call.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> Result<bool>) -> Result {
    let end = Instant::now() + Duration::from_secs(5);
    while !condition()? {
        if Instant::now() > end {
            return fail(format!("expected {what} within 5 s"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Rotates each pair of neighbouring values through an operation: see `interop.idl`.
pub(crate) fn rotate<T, C>(
    values: &[T],
    op: impl Fn(&T, &mut T) -> core::result::Result<(T, C), SystemException>,
) -> Result
where
    T: Clone + Debug,
    C: Into<T>,
{
    for pair in values.windows(2) {
        let [x, y] = pair else { continue };
        let mut b = y.clone();
        let (result, c) = op(x, &mut b)?;
        same("result", y, &result)?;
        same("inout", x, &b)?;
        same("out", y, &c.into())?;
    }
    Ok(())
}

/// Runs checks and prints their results.
pub(crate) struct Checks {
    skip: Vec<String>,
    failures: u32,
}

impl Checks {
    pub(crate) fn new(args: &Args) -> Self {
        Self { skip: args.skip.clone(), failures: 0 }
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    pub(crate) fn check(&mut self, name: &str, run: impl FnOnce() -> Result) {
        if self.skip.iter().any(|skipped| skipped == name) {
            return;
        }
        match run() {
            Ok(()) => println!("PASS {name}"),
            Err(Failure(why)) => {
                println!("FAIL {name}: {why}");
                self.failures += 1;
            }
        }
    }

    /// Runs a group, which fails as a whole if its object is unavailable.
    pub(crate) fn group(&mut self, run: impl FnOnce(&mut Self) -> Result) {
        if let Err(Failure(why)) = run(self) {
            println!("FAIL group: {why}");
            self.failures += 1;
        }
    }
}
