//! Lists whose number of items is known in advance.

use crate::prelude::*;

/// Reads `more` items after a first one directly into their places; returns `None` if one of them
/// cannot be read.
// Written by hand: without link-time optimisation, `extend` with an iterator calls a loop in which
// no size is constant, and `push` checks the capacity for each item.
#[inline(always)]
pub(crate) fn read_after<T>(
    first: T,
    more: usize,
    mut read: impl FnMut() -> Option<T>,
) -> Option<Box<[T]>> {
    let mut items: Vec<T> = Vec::with_capacity(more.checked_add(1)?);
    items.push(first);
    for index in 1..=more {
        let item = read()?;
        // SAFETY: there is capacity for `1 + more`.
        unsafe { items.as_mut_ptr().add(index).write(item) };
        // SAFETY: the items up to this one are initialised. They are dropped if the next one cannot
        // be read.
        unsafe { items.set_len(index + 1) };
    }
    Some(items.into_boxed_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::rc::Rc;

    #[test]
    fn as_many_are_read_as_are_asked_for() {
        let mut next = 1..;
        assert_eq!(read_after(0, 4, || next.next()).as_deref(), Some(&[0, 1, 2, 3, 4][..]));
        assert_eq!(next.next(), Some(5));
        let one = read_after("one".to_owned(), 0, || None);
        assert_eq!(one.as_deref(), Some(&["one".to_owned()][..]));
    }

    #[test]
    fn those_read_before_a_wrong_one_are_dropped() {
        let item = Rc::new(());
        let mut left = 3;
        let read = read_after(Rc::clone(&item), 5, || {
            left -= 1;
            (left > 0).then(|| Rc::clone(&item))
        });
        assert_eq!((read, left, Rc::strong_count(&item)), (None, 0, 1));
    }
}
