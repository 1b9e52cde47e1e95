//! Storage for values that are created during one evaluation.

use std::cell::{Cell, OnceCell};

use oxorb_cdr::{Dynamic, TypeCode};

use crate::etcl::Mismatch;

/// Values that cannot be read in place, types that the event contains, and the remaining number of steps
/// ([`ConstraintLimits::work`](crate::etcl::ConstraintLimits::work)).
pub(crate) struct Scratch {
    kept: Kept,
    work: Cell<usize>,
}

/// A list that can be extended through a shared reference. References to its items remain valid.
#[derive(Default)]
struct Kept(OnceCell<Box<(Item, Kept)>>);

enum Item {
    Tree(Dynamic),
    Type(TypeCode),
}

impl Scratch {
    pub(crate) fn new(work: usize) -> Self {
        Self { kept: Kept::default(), work: Cell::new(work) }
    }

    /// Stores a tree. Allocates memory, and counts a step for each item that is already stored.
    pub(crate) fn keep(&self, tree: Dynamic) -> Result<&Dynamic, Mismatch> {
        match self.append(Item::Tree(tree))? {
            Item::Tree(tree) => Ok(tree),
            Item::Type(_) => unreachable!("it was a tree"),
        }
    }

    /// Stores a type in the same way as [`keep`](Self::keep) stores a tree.
    pub(crate) fn keep_type(&self, ty: TypeCode) -> Result<&TypeCode, Mismatch> {
        match self.append(Item::Type(ty))? {
            Item::Type(ty) => Ok(ty),
            Item::Tree(_) => unreachable!("it was a type"),
        }
    }

    /// Counts steps. Fails if the evaluation needs more steps than permitted.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Mismatch> {
        let left = self.work.get().checked_sub(steps);
        self.work.set(left.ok_or(Mismatch::TooMuchWork)?);
        Ok(())
    }

    /// Returns the number of steps that are left.
    pub(crate) fn left(&self) -> usize {
        self.work.get()
    }

    fn append(&self, item: Item) -> Result<&Item, Mismatch> {
        let mut at = &self.kept;
        while let Some(kept) = at.0.get() {
            self.spend(1)?;
            at = &kept.1;
        }
        Ok(&at.0.get_or_init(|| Box::new((item, Kept::default()))).0)
    }
}

impl Drop for Kept {
    /// Frees the items in a loop, because the recursive drop of a long list could overflow the stack.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut kept) = next {
            next = kept.1.0.take();
        }
    }
}
