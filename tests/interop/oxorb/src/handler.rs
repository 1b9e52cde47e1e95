//! Reply handler that records its calls: see `interop_async.idl`.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use oxorb::values::ValueLink;
use oxorb::{Result, SystemException};

use crate::interop_async::worker::WorkError;
use crate::interop_async::{AmiWorkerHandler, Parcel, Refused};
use crate::messaging::{ExceptionHolder, ReplyHandler};

/// Reply handler that records its calls.
#[derive(Default)]
pub struct Handler {
    told: Mutex<String>,
    more: Condvar,
}

impl Handler {
    /// Returns the calls since the last query, one line each.
    pub fn taken(&self) -> String {
        std::mem::take(&mut self.told.lock().expect("not poisoned"))
    }

    /// Returns the calls as `taken` does, once there are any; empty after 5 s.
    pub fn awaited(&self) -> String {
        let told = self.told.lock().expect("not poisoned");
        let nothing = |told: &mut String| told.is_empty();
        let waited = self.more.wait_timeout_while(told, Duration::from_secs(5), nothing);
        std::mem::take(&mut waited.expect("not poisoned").0)
    }

    fn note(&self, line: &str) -> Result<()> {
        let mut told = self.told.lock().expect("not poisoned");
        told.push_str(line);
        told.push('\n');
        self.more.notify_all();
        Ok(())
    }

    fn failed(&self, operation: &str, holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        let holder = holder.get().ok_or(crate::internal())?;
        self.note(&format!("{operation} {}", system(&SystemException::from(&*holder))))
    }
}

fn system(raised: &SystemException) -> String {
    format!("{} {} {}", raised.kind.name(), raised.minor, raised.completed as u32)
}

impl ReplyHandler for Handler {}

impl AmiWorkerHandler for Handler {
    fn work(&self, ami_return_val: i32, what: &Parcel, half: f64) -> Result<()> {
        let (label, weight) = (&what.label, what.weight.trunc());
        self.note(&format!("work {ami_return_val} {label} {weight} {}", half.trunc()))
    }

    fn work_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        let holder = excep_holder.get().ok_or(crate::internal())?;
        self.note(&match WorkError::from(&*holder) {
            WorkError::Refused(Refused { why, limit }) => {
                format!("work_excep Refused {why} {limit}")
            }
            WorkError::System(raised) => format!("work_excep {}", system(&raised)),
        })
    }

    fn get_level(&self, ami_return_val: i32) -> Result<()> {
        self.note(&format!("get_level {ami_return_val}"))
    }

    fn get_level_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed("get_level_excep", excep_holder)
    }

    fn set_level(&self) -> Result<()> {
        self.note("set_level")
    }

    fn set_level_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed("set_level_excep", excep_holder)
    }

    fn get_broken(&self, ami_return_val: &str) -> Result<()> {
        self.note(&format!("get_broken {ami_return_val}"))
    }

    fn get_broken_excep(&self, excep_holder: &ValueLink<ExceptionHolder>) -> Result<()> {
        self.failed("get_broken_excep", excep_holder)
    }
}
