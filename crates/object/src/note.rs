//! Details that an exception cannot carry itself, since it is small and `Copy`.

use core::fmt;
use core::hash::{Hash, Hasher};
use oxorb_cdr::once::OnceLock;

use oxorb_cdr::OutsideCodeSet;

/// Number of a text that the layer above keeps beside a [`SystemException`](crate::SystemException).
///
/// All notes are equal: two exceptions of one kind, minor code and completion status are, too.
#[derive(Clone, Copy, Default)]
pub struct Note(u32);

/// Writes the text of a note, if it is still kept.
pub type Explainer = fn(u32, &mut fmt::Formatter<'_>) -> fmt::Result;

/// Keeps which character could not be sent or read, and returns the number of the note.
pub type Keeper = fn(OutsideCodeSet) -> u32;

static EXPLAINER: OnceLock<Explainer> = OnceLock::new();

static KEEPER: OnceLock<Keeper> = OnceLock::new();

impl Note {
    /// Note without a text.
    pub const NONE: Note = Note(0);

    /// Returns the note with this number; 0 is [`NONE`](Self::NONE).
    pub const fn new(number: u32) -> Self {
        Note(number)
    }

    /// Returns the number; 0 for [`NONE`](Self::NONE).
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Sets how numbers become text, for all exceptions of the process; the first call decides.
    pub fn explain_by(explainer: Explainer) {
        // Whoever came first did the same.
        let _ = EXPLAINER.set(explainer);
    }

    /// Sets how characters are kept that a code set lacks, for all exceptions of the process; the first call decides.
    pub fn keep_by(keeper: Keeper) {
        // Whoever came first did the same.
        let _ = KEEPER.set(keeper);
    }

    #[cold]
    pub(crate) fn about(outside: OutsideCodeSet) -> Self {
        KEEPER.get().map_or(Note::NONE, |keep| Note(keep(outside)))
    }

    pub(crate) fn explain(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match EXPLAINER.get() {
            Some(explain) if self.0 != 0 => explain(self.0, f),
            _ => Ok(()),
        }
    }
}

impl PartialEq for Note {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Note {}

impl Hash for Note {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
