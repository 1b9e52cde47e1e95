//! Linear searches. Tests count the comparisons, which reveals a search within a loop over a document.

/// Returns the index of the first item for which `is_it` holds. Linear.
pub(crate) fn position<T>(items: &[T], is_it: impl Fn(&T) -> bool) -> Option<usize> {
    let found = items.iter().position(is_it);
    #[cfg(test)]
    count(found.map_or(items.len(), |at| at + 1));
    found
}

/// Returns the first item for which `is_it` holds. Linear.
pub(crate) fn find<T>(items: &[T], is_it: impl Fn(&T) -> bool) -> Option<&T> {
    position(items, is_it).map(|at| &items[at])
}

#[cfg(test)]
thread_local! {
    static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts items that this thread has compared, or has put into an index.
#[cfg(test)]
pub(crate) fn count(items: usize) {
    COMPARED.set(COMPARED.get() + items);
}

/// Returns the number of items that this thread has counted.
#[cfg(test)]
pub(crate) fn compared() -> usize {
    COMPARED.get()
}
