//! Buffers for a lane's connections, allocated before clients connect.
//!
//! A connection takes two buffers when it is accepted, one to read into and one to answer from, and returns them when
//! it closes: the lane's lock for them is not on the path of requests. A connection that is accepted when no buffers
//! are left allocates its own buffers, as in lanes without preallocated ones.

use std::sync::Arc;

use oxorb_giop::Inbox;
use oxorb_rt::BufferPool;

use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Buffers that a lane of a threadpool allocates at its start ([`Threadpool::message_buffers`](crate::Threadpool)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageBuffers {
    /// Number of connections for which buffers are allocated, two for each.
    pub connections: usize,
    /// Size of each buffer: messages up to this size are read, and replies written, without an allocation from the
    /// first one on. At most the option KeptCapacity.
    pub octets: usize,
}

/// Memory that a lane keeps for its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneMemory {
    /// Configuration of the buffers.
    pub planned: MessageBuffers,
    /// Number of buffers not in use; at most two for each of `planned.connections`.
    pub free: usize,
    /// Number of connections accepted without buffers, since the lane was created.
    pub without: u64,
}

/// Buffers of a lane.
pub(super) struct Memory {
    planned: MessageBuffers,
    stock: Mutex<BufferPool>,
    /// Number of buffers in `stock`, as read without its lock.
    free: AtomicUsize,
    without: AtomicU64,
}

/// Two buffers of one connection.
pub(super) struct BufferPair {
    pub(super) read: Vec<u8>,
    pub(super) write: Vec<u8>,
    /// Memory that the buffers are returned to.
    pub(super) memory: Arc<Memory>,
}

impl Memory {
    /// Allocates all buffers, with their pages touched.
    pub(super) fn new(planned: MessageBuffers) -> Memory {
        let buffers = planned.connections * 2;
        let mut stock = BufferPool::new(buffers, size(planned));
        for _ in 0..buffers {
            stock.put(touched(planned));
        }
        let free = AtomicUsize::new(stock.len());
        Memory { planned, stock: Mutex::new(stock), free, without: AtomicU64::new(0) }
    }

    /// Takes buffers for a new connection; `None` if all are in use.
    pub(super) fn take(self: &Arc<Self>) -> Option<BufferPair> {
        let mut stock = self.stock.lock();
        if stock.len() < 2 {
            self.without.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let (read, write) = (stock.take(0), stock.take(0));
        self.free.store(stock.len(), Ordering::Relaxed);
        Some(BufferPair { read, write, memory: Arc::clone(self) })
    }

    /// Returns the buffers of a connection. Lost and grown buffers are replaced.
    pub(super) fn put(&self, buffers: [Vec<u8>; 2]) {
        for mut buffer in buffers {
            if buffer.capacity() != size(self.planned) {
                buffer = touched(self.planned);
            }
            buffer.clear();
            let mut stock = self.stock.lock();
            stock.put(buffer);
            self.free.store(stock.len(), Ordering::Relaxed);
        }
    }

    /// Allocates buffers in place of those of a connection that was dropped with them.
    #[cold]
    pub(super) fn replace_lost(&self) {
        self.put([Vec::new(), Vec::new()]);
    }

    /// Returns the state of the memory. Takes no lock.
    pub(super) fn report(&self) -> LaneMemory {
        LaneMemory {
            planned: self.planned,
            free: self.free.load(Ordering::Relaxed),
            without: self.without.load(Ordering::Relaxed),
        }
    }
}

/// Returns the capacity of a buffer: the configured size, plus the margin for the alignment of
/// messages.
fn size(planned: MessageBuffers) -> usize {
    planned.octets + Inbox::MARGIN
}

/// Returns a buffer whose pages are written, because the kernel allocates pages of zeros lazily.
fn touched(planned: MessageBuffers) -> Vec<u8> {
    let mut buffer = vec![1; size(planned)];
    buffer.clear();
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_free_buffers_is_read_without_a_lock() {
        let memory = Arc::new(Memory::new(MessageBuffers { connections: 2, octets: 1024 }));
        let BufferPair { read, write, .. } = memory.take().expect("no buffers are in use");
        let before = crate::threads::lock::taken();
        assert_eq!(memory.report().free, 2);
        assert_eq!(crate::threads::lock::taken(), before);
        memory.put([read, write]);
        assert_eq!(memory.report().free, 4);
    }
}
