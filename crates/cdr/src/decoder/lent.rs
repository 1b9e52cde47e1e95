//! Octets of a message that lie elsewhere.

use oxorb_lend::{LARGE, Lease};

use super::Decoder;
use crate::gap::Gap;
use crate::{ErrorKind, Result};

impl<'de> Decoder<'de> {
    /// Reads a message of which the octets at hand lack those of a gap. What is read before the gap was come to, and what
    /// ends before it, is right only if the gap was taken then: see [`Gap::was_taken`].
    #[must_use]
    pub fn with_gap(mut self, gap: &'de Gap) -> Self {
        self.gap = Some(gap);
        self
    }

    /// Refuses [`Octets`](crate::Octets) of 16 KiB or more ([`LARGE`]) that lie in the message, so that they would be
    /// copied: [`ErrorKind::NotInPlace`].
    #[must_use]
    pub fn in_place_only(mut self) -> Self {
        self.in_place_only = true;
        self
    }

    /// Reads octets that lie in the message.
    pub(crate) fn octets_here(&mut self) -> Result<&'de [u8]> {
        let octets = self.length(None, 1)?;
        if self.in_place_only && octets >= LARGE {
            return Err(self.error(ErrorKind::NotInPlace { octets }));
        }
        self.octets(octets)
    }

    /// Takes the lease of a sequence of octets that is next, if the octets of a gap are just those. Reading goes on behind
    /// it.
    pub(crate) fn leased(&mut self) -> Result<Option<Lease>> {
        let Some(gap) = self.gap.filter(|_| self.values.is_none()) else {
            return Ok(None);
        };
        let before = self.at;
        let length = self.ulong()? as usize;
        // Octets of the message before the origin of alignment are none: encapsulations have no gap.
        let here = self.base == 0 && self.at == gap.at() && length == gap.octets();
        let Some(lease) = here.then(|| gap.take()).flatten() else {
            self.at = before;
            return Ok(None);
        };
        // Alignment counts from a place that is as far from what comes next, modulo eight, as if the octets were there.
        let skipped = length.wrapping_neg() & 7;
        self.octets = &self.octets[skipped..];
        self.at -= skipped;
        self.base = skipped + length;
        self.gap = None;
        Ok(Some(lease))
    }
}
