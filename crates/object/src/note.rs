//! Details stored outside an exception, which is small and `Copy`.

use core::fmt;
use core::hash::{Hash, Hasher};
use oxorb_cdr::once::OnceLock;

use oxorb_cdr::OutsideCodeSet;

/// Number of a text that an upper layer stores for a [`SystemException`](crate::SystemException).
///
/// All notes are equal, so that exceptions with the same kind, minor code and completion status
/// are, too.
#[derive(Clone, Copy, Default)]
pub struct ExceptionNote(u32);

/// Function that writes the text of a note, if it is still stored.
pub type Explainer = fn(u32, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Function that stores the character that could not be sent or read, and returns the number of the
/// note.
pub type Keeper = fn(OutsideCodeSet) -> u32;

static EXPLAINER: OnceLock<Explainer> = OnceLock::new();

static KEEPER: OnceLock<Keeper> = OnceLock::new();

impl ExceptionNote {
    /// Note without a text.
    pub const NONE: ExceptionNote = ExceptionNote(0);

    /// Returns the note with this number; 0 is [`NONE`](Self::NONE).
    pub const fn new(number: u32) -> Self {
        ExceptionNote(number)
    }

    /// Returns the number; 0 for [`NONE`](Self::NONE).
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Sets the function that converts numbers to text, for all exceptions of the process; only the
    /// first call has an effect.
    pub fn explain_by(explainer: Explainer) {
        // `set` fails only if an earlier caller, which passes the same function, was first.
        let _ = EXPLAINER.set(explainer);
    }

    /// Sets the function that stores characters outside a code set, for all exceptions of the
    /// process; only the first call has an effect.
    pub fn keep_by(keeper: Keeper) {
        // `set` fails only if an earlier caller, which passes the same function, was first.
        let _ = KEEPER.set(keeper);
    }

    #[cold]
    pub(crate) fn about(outside: OutsideCodeSet) -> Self {
        KEEPER.get().map_or(ExceptionNote::NONE, |keep| ExceptionNote(keep(outside)))
    }

    pub(crate) fn explain(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match EXPLAINER.get() {
            Some(explain) if self.0 != 0 => explain(self.0, f),
            _ => Ok(()),
        }
    }
}

impl PartialEq for ExceptionNote {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ExceptionNote {}

impl Hash for ExceptionNote {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for ExceptionNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
