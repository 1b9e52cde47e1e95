//! Fusion of two sensors by a complementary filter.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::nav::Fusion;

/// Servant that stores the heading as the bits of an `f64`. It uses an atomic and no lock, because the
/// analysis assumes that no operation waits for another one.
#[derive(Default)]
pub struct Estimator(AtomicU64);

impl Estimator {
    /// Changes the heading, and returns the new one.
    fn change(&self, change: impl Fn(f64) -> f64) -> f64 {
        let mut old = self.0.load(Relaxed);
        loop {
            let new = change(f64::from_bits(old));
            match self.0.compare_exchange(old, new.to_bits(), Relaxed, Relaxed) {
                Ok(_) => return new,
                Err(newer) => old = newer,
            }
        }
    }
}

impl Fusion for Estimator {
    fn gyro(&self, rate: f64) -> oxorb::Result<f64> {
        // Calls come every 10 ms.
        Ok(self.change(|estimate| estimate + rate * 0.01))
    }

    fn compass(&self, heading: f64) -> oxorb::Result<f64> {
        Ok(self.change(|estimate| estimate + 0.2 * (heading - estimate)))
    }
}
