//! Simulated power supply.

use std::sync::{Mutex, MutexGuard};
use std::time::UNIX_EPOCH;

use crate::control::DeviceState::{self, Fault, Off, On};
use crate::control::device::OnError;
use crate::control::{DevFailed, Device, Reading, ReadingQuality};

/// Servant: its state and its voltage. Above 30 V it switches itself off.
#[derive(Default)]
pub struct PowerSupply(Mutex<(DeviceState, f64)>);

impl PowerSupply {
    fn lock(&self) -> MutexGuard<'_, (DeviceState, f64)> {
        self.0.lock().expect("no thread panics with the lock")
    }

    /// Performs an operation that is allowed in one state only.
    fn change(&self, name: &str, from: DeviceState, to: (DeviceState, f64)) -> Result<(), OnError> {
        let mut supply = self.lock();
        if supply.0 == from {
            *supply = to;
            return Ok(());
        }
        let description = format!("{name} is not allowed in state {:?}", supply.0);
        let origin = format!("PowerSupply::{name}");
        Err(DevFailed { reason: "NotAllowed".into(), description, origin }.into())
    }
}

// Operations that raise the same exceptions share one error, named after the first of them.
impl Device for PowerSupply {
    fn state(&self) -> oxorb::Result<DeviceState> {
        Ok(self.lock().0)
    }

    fn on(&self) -> Result<(), OnError> {
        self.change("on", Off, (On, 0.0))
    }

    fn off(&self) -> Result<(), OnError> {
        self.change("off", On, (Off, 0.0))
    }

    fn reset(&self) -> Result<(), OnError> {
        self.change("reset", Fault, (Off, 0.0))
    }

    fn voltage(&self) -> oxorb::Result<Reading> {
        let (state, value) = *self.lock();
        let quality = if state == On { ReadingQuality::Valid } else { ReadingQuality::Invalid };
        let time = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64);
        Ok(Reading { value, quality, time })
    }

    fn write_voltage(&self, volts: f64) -> Result<(), OnError> {
        self.change("write_voltage", On, if volts > 30.0 { (Fault, 0.0) } else { (On, volts) })
    }
}
