//! A binary heap of numbered places that also supports removal of any place.

/// Sort key of a place. The place with the smallest key is first.
pub(crate) type Key = (u64, u64, u64);

const NOWHERE: u32 = u32::MAX;

/// A binary heap of numbered places: O(log n) insertion and removal, O(1) access to the first. Allocates only if the
/// number of places exceeds its previous maximum.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    items: Vec<(Key, u32)>,
    /// Index into `items`, by place.
    at: Vec<u32>,
}

impl Heap {
    pub(crate) fn with_capacity(places: usize) -> Heap {
        Heap { items: Vec::with_capacity(places), at: Vec::with_capacity(places) }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn first(&self) -> Option<(Key, u32)> {
        self.items.first().copied()
    }

    pub(crate) fn insert(&mut self, place: u32, key: Key) {
        if self.at.len() <= place as usize {
            self.at.resize(place as usize + 1, NOWHERE);
        }
        let index = self.items.len();
        self.items.push((key, place));
        self.at[place as usize] = index as u32;
        self.up(index);
    }

    /// Removes a place, and reports whether the heap contained the place.
    pub(crate) fn remove(&mut self, place: u32) -> bool {
        let index = match self.at.get(place as usize) {
            Some(&index) if index != NOWHERE => index as usize,
            _ => return false,
        };
        self.at[place as usize] = NOWHERE;
        self.items.swap_remove(index);
        if let Some(&(_, moved)) = self.items.get(index) {
            self.at[moved as usize] = index as u32;
            self.down(index);
            self.up(index);
        }
        true
    }

    fn up(&mut self, mut index: usize) {
        while index > 0 {
            let parent = (index - 1) / 2;
            if self.items[parent].0 <= self.items[index].0 {
                return;
            }
            self.swap(parent, index);
            index = parent;
        }
    }

    fn down(&mut self, mut index: usize) {
        loop {
            let left = 2 * index + 1;
            let Some(smaller) = [left, left + 1]
                .into_iter()
                .filter(|&child| child < self.items.len())
                .min_by_key(|&child| self.items[child].0)
            else {
                return;
            };
            if self.items[index].0 <= self.items[smaller].0 {
                return;
            }
            self.swap(index, smaller);
            index = smaller;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
        self.at[self.items[a].1 as usize] = a as u32;
        self.at[self.items[b].1 as usize] = b as u32;
    }
}
