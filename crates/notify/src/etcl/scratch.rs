//! Values built during one evaluation, which live as long as it does.

use std::cell::{Cell, OnceCell};

use oxorb_cdr::{Dynamic, TypeCode};

use crate::etcl::Mismatch;

/// Values that cannot be read in place, types read within an event, and the remaining steps of
/// [`ConstraintLimits::work`](crate::etcl::ConstraintLimits::work).
pub(crate) struct Scratch {
    kept: Kept,
    work: Cell<usize>,
}

/// A list to which a shared reference can append, while references to its items stay valid.
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

    /// Stores a tree. Allocates; takes a step for each stored item, counted as work.
    pub(crate) fn keep(&self, tree: Dynamic) -> Result<&Dynamic, Mismatch> {
        match self.append(Item::Tree(tree))? {
            Item::Tree(tree) => Ok(tree),
            Item::Type(_) => unreachable!("it was a tree"),
        }
    }

    /// Stores a type, as [`keep`](Self::keep) stores a tree.
    pub(crate) fn keep_type(&self, ty: TypeCode) -> Result<&TypeCode, Mismatch> {
        match self.append(Item::Type(ty))? {
            Item::Type(ty) => Ok(ty),
            Item::Tree(_) => unreachable!("it was a type"),
        }
    }

    /// Counts a number of steps.
    pub(crate) fn spend(&self, steps: usize) -> Result<(), Mismatch> {
        let left = self.work.get().checked_sub(steps);
        self.work.set(left.ok_or(Mismatch::TooMuchWork)?);
        Ok(())
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
    /// Frees the items one after the other, without recursion.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut kept) = next {
            next = kept.1.0.take();
        }
    }
}
