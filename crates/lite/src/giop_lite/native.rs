//! Numbers in the byte order shared by both machines.

use oxorb_cdr::ByteOrder;
use oxorb_giop::Violation;

use crate::octets::{octets, ulong};

/// Message whose numbers are in the byte order shared by both machines.
pub(super) struct Native<'a>(pub(super) &'a [u8]);

impl<'a> Native<'a> {
    /// Returns the unsigned long at offset `at`.
    ///
    /// # Errors
    /// [`Violation::Truncated`] with the name `what`.
    #[inline]
    pub(super) fn ulong(&self, what: &'static str, at: usize) -> Result<u32, Violation> {
        ulong(self.0, ByteOrder::NATIVE, what, at)
    }

    /// Returns `length` octets starting at offset `at`.
    ///
    /// # Errors
    /// [`Violation::Truncated`] with the name `what`.
    #[inline]
    pub(super) fn octets(
        &self,
        what: &'static str,
        at: usize,
        length: usize,
    ) -> Result<&'a [u8], Violation> {
        octets(self.0, what, at, length)
    }
}
