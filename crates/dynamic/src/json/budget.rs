//! Budget of the text that values and types may expand to.

use std::cell::Cell;
use std::rc::Rc;

use oxorb_cdr::DecoderLimits;
use serde::ser::Error;

/// Charge for the punctuation around a name or a value.
pub(super) const MARK: usize = 4;

/// Remaining text that one conversion may produce.
#[derive(Debug)]
pub(super) struct Text {
    left: Rc<Cell<usize>>,
    limit: usize,
}

impl Default for Text {
    fn default() -> Self {
        Text::of(&DecoderLimits::default())
    }
}

impl Text {
    pub(super) fn of(limits: &DecoderLimits) -> Self {
        let limit = limits.max_text as usize;
        let left = Rc::new(Cell::new(limit));
        Text { left, limit }
    }

    /// Shares the budget with a part of the conversion.
    pub(super) fn share(&self) -> Self {
        let (left, limit) = (self.left.clone(), self.limit);
        Text { left, limit }
    }

    /// Charges octets before they are written.
    pub(super) fn spend<E: Error>(&self, octets: usize) -> Result<(), E> {
        match self.left.get().checked_sub(octets) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom(format_args!(
                "the value is more than {} octets as text (max_text of the limits, setting MaxText)",
                self.limit
            ))),
        }
    }
}
