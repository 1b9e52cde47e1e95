//! Reusable buffers.

/// Pool of reusable buffers that belongs to one lane.
///
/// A buffer travels with its call: it is taken when a message begins and put back by its holder
/// when the octets are on the wire or read. A buffer that the application keeps costs one
/// allocation later.
///
/// [`take`](Self::take) returns a buffer with the contents that it had when it was put back. An
/// encoder overwrites them, so they need not be zeroed; code that appends clears the buffer first.
///
/// Memory is bounded by `buffers * retain`: a surplus buffer, or one that grew beyond `retain`
/// octets, is freed.
///
/// **Real-time cost.** [`take`](Self::take) and [`put`](Self::put) access one end of a small array;
/// no lock, no system call. `take` allocates only if the pool is empty or the buffer is too small.
///
/// ```
/// let mut pool = oxorb_rt::BufferPool::new(8, 64 * 1024);
/// let mut buffer = pool.take(256);
/// buffer.clear();
/// buffer.extend_from_slice(b"GIOP");
/// let first = buffer.as_ptr();
/// pool.put(buffer);
///
/// let again = pool.take(256);
/// assert_eq!(again.as_ptr(), first, "the same memory");
/// ```
#[derive(Debug)]
pub struct BufferPool {
    stock: Vec<Vec<u8>>,
    buffers: usize,
    retain: usize,
}

impl BufferPool {
    /// Returns an empty pool for at most `buffers` buffers of at most `retain` octets each.
    /// Allocates the pool's array, which never grows.
    pub fn new(buffers: usize, retain: usize) -> Self {
        Self { stock: Vec::with_capacity(buffers), buffers, retain }
    }

    /// Returns a buffer with a capacity of at least `capacity` octets: the one put back last, whose
    /// memory is most likely in the cache.
    #[inline]
    pub fn take(&mut self, capacity: usize) -> Vec<u8> {
        let mut buffer = self.stock.pop().unwrap_or_default();
        buffer.reserve(capacity.saturating_sub(buffer.len()));
        buffer
    }

    /// Puts back a buffer, from this pool or any other source.
    #[inline]
    pub fn put(&mut self, buffer: Vec<u8>) {
        let useful = 1..=self.retain;
        if self.stock.len() < self.buffers && useful.contains(&buffer.capacity()) {
            self.stock.push(buffer);
        }
    }

    /// Returns the number of buffers in the pool.
    pub fn len(&self) -> usize {
        self.stock.len()
    }

    /// Reports whether the pool is empty, so that the next [`take`](Self::take) allocates.
    pub fn is_empty(&self) -> bool {
        self.stock.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_no_more_than_it_may() {
        let mut pool = BufferPool::new(2, 1024);
        for _ in 0..3 {
            pool.put(Vec::with_capacity(16));
        }
        assert_eq!(pool.len(), 2);
    }

    #[test]
    fn frees_what_grew_too_large_and_what_holds_no_memory() {
        let mut pool = BufferPool::new(2, 1024);
        pool.put(Vec::with_capacity(1025));
        pool.put(Vec::new());
        assert!(pool.is_empty());
        pool.put(Vec::with_capacity(1024));
        assert_eq!(pool.len(), 1);
    }

    #[test]
    fn gives_room_even_if_the_stock_is_smaller() {
        let mut pool = BufferPool::new(1, 1024);
        pool.put(vec![1; 8]);
        let buffer = pool.take(100);
        assert_eq!(buffer, [1; 8], "as it was put back");
        assert!(buffer.capacity() >= 100);
    }

    #[test]
    fn old_octets_count_as_room() {
        let mut pool = BufferPool::new(1, 1024);
        pool.put(vec![1; 100]);
        assert_eq!(pool.take(100).capacity(), 100);
    }
}
