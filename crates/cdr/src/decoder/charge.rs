//! Accounting of the memory that values take, before it is allocated.

use super::Decoder;
use crate::budget::footprint;
use crate::{ErrorKind, Result};

impl<'de> Decoder<'de> {
    /// Charges memory for `n` values of `each` octets, before it is allocated.
    #[inline(always)]
    pub(crate) fn charge(&mut self, n: usize, each: usize) -> Result<()> {
        let octets = n.saturating_mul(each);
        match self.budget.take(octets) {
            true => Ok(()),
            false => self.charge_more(octets),
        }
    }

    /// Continues with the remaining budget of a decoder of an inner encapsulation.
    pub(crate) fn charged_as(&mut self, inside: &Self) {
        self.budget = inside.budget;
    }

    /// Charges memory for `n` values of a type, and for memory that they own.
    #[inline(always)]
    pub(crate) fn charge_for<T>(&mut self, n: usize) -> Result<()> {
        self.charge(n, const { footprint::<T>() })
    }

    #[cold]
    #[inline(never)]
    fn charge_more(&mut self, octets: usize) -> Result<()> {
        let Some(more) = self.budget.step(octets, self.limits.max_memory) else {
            let limit = self.limits.max_memory;
            return Err(self.error(ErrorKind::TooMuchMemory { limit }));
        };
        if self.scope.is_some_and(|scope| !scope.afford(more)) {
            return Err(self.error(ErrorKind::NoMemoryLeft));
        }
        self.budget.grant(more, octets);
        Ok(())
    }
}
