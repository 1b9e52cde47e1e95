//! Octets of a message that are stored elsewhere.

use oxorb_lend::{LARGE, Lease};

use super::Decoder;
use crate::gap::Gap;
use crate::{ErrorKind, Result};

impl<'de> Decoder<'de> {
    /// Sets the gap of a message whose octets are incomplete without it. The values read are valid
    /// only if a sequence of octets took the gap ([`Gap::was_taken`]); otherwise the items after
    /// the gap were read from the wrong octets.
    #[must_use]
    pub fn with_gap(mut self, gap: &'de Gap) -> Self {
        self.gap = Some(gap);
        self
    }

    /// Rejects [`Octets`](crate::Octets) of 16 KiB or more ([`LARGE`]) that would have to be copied
    /// out of the message: [`ErrorKind::NotInPlace`].
    #[must_use]
    pub fn in_place_only(mut self) -> Self {
        self.in_place_only = true;
        self
    }

    /// Reads octets stored in the message.
    pub(crate) fn octets_here(&mut self) -> Result<&'de [u8]> {
        let octets = self.length(None, 1)?;
        if self.in_place_only && octets >= LARGE {
            return Err(self.error(ErrorKind::NotInPlace { octets }));
        }
        self.octets(octets)
    }

    /// Takes the lease if the next item is a sequence of octets that is exactly the gap. Continues
    /// after the gap.
    pub(crate) fn leased(&mut self) -> Result<Option<Lease>> {
        let Some(gap) = self.gap.filter(|_| self.values.is_none()) else {
            return Ok(None);
        };
        let before = self.at;
        let length = self.ulong()? as usize;
        // `at` counts from the alignment origin, and the gap from the start of the message. The two
        // are comparable only if `base` is 0, that is, not in an encapsulation, which never
        // contains the gap.
        let here = self.base == 0 && self.at == gap.at() && length == gap.octets();
        let Some(lease) = here.then(|| gap.take()).flatten() else {
            self.at = before;
            return Ok(None);
        };
        // Moves the alignment origin, so that the next item has the same offset modulo eight as if
        // the octets of the gap were present.
        let skipped = length.wrapping_neg() & 7;
        self.octets = &self.octets[skipped..];
        self.at -= skipped;
        self.base = skipped + length;
        self.gap = None;
        Ok(Some(lease))
    }
}
