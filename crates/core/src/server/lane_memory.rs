//! Buffers of a lane's connections, made before anybody connects.
//!
//! A connection takes two when it comes, one to read into and one to answer from, and gives them back when it goes: the
//! lane's lock for them is not on the way of requests. Whoever comes when all are given away has buffers of its own, as in
//! lanes without.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxorb_giop::Inbox;
use oxorb_rt::BufferPool;

use crate::lock::Mutex;

/// Buffers that a lane of a threadpool has from the start ([`Threadpool::message_buffers`](crate::Threadpool)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageBuffers {
    /// Number of connections, two buffers each.
    pub connections: usize,
    /// The size of each: messages up to this length are read, and replies written, without an allocation, from the first
    /// one on. At most the option KeptCapacity.
    pub octets: usize,
}

/// Memory that a lane holds for its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneMemory {
    /// Plan by which the buffers were made.
    pub planned: MessageBuffers,
    /// Buffers that no connection has at the moment; at most two for each of `planned.connections`.
    pub free: usize,
    /// Connections that came when none was left, since the lane exists.
    pub without: u64,
}

/// Memory of a lane.
pub(super) struct Memory {
    planned: MessageBuffers,
    stock: Mutex<BufferPool>,
    without: AtomicU64,
}

/// The two buffers of one connection.
pub(super) struct Pair {
    pub(super) read: Vec<u8>,
    pub(super) write: Vec<u8>,
    /// Memory to which the buffers return in the end.
    pub(super) memory: Arc<Memory>,
}

impl Memory {
    /// All buffers, their pages touched.
    pub(super) fn new(planned: MessageBuffers) -> Memory {
        let buffers = planned.connections * 2;
        let mut stock = BufferPool::new(buffers, size(planned));
        for _ in 0..buffers {
            stock.put(touched(planned));
        }
        Memory { planned, stock: Mutex::new(stock), without: AtomicU64::new(0) }
    }

    /// Takes buffers for a connection that comes; `None`: all are given away.
    pub(super) fn take(self: &Arc<Self>) -> Option<Pair> {
        let mut stock = self.stock.lock();
        if stock.len() < 2 {
            self.without.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Pair { read: stock.take(0), write: stock.take(0), memory: Arc::clone(self) })
    }

    /// Takes buffers back from a connection that goes. What was lost on the way, or grew, is
    /// replaced.
    pub(super) fn put(&self, buffers: [Vec<u8>; 2]) {
        for mut buffer in buffers {
            if buffer.capacity() != size(self.planned) {
                buffer = touched(self.planned);
            }
            buffer.clear();
            self.stock.lock().put(buffer);
        }
    }

    pub(super) fn report(&self) -> LaneMemory {
        LaneMemory {
            planned: self.planned,
            free: self.stock.lock().len(),
            without: self.without.load(Ordering::Relaxed),
        }
    }
}

/// Capacity of a buffer: what it is planned for, and what its messages may begin later by.
fn size(planned: MessageBuffers) -> usize {
    planned.octets + Inbox::MARGIN
}

/// Written once, so that the kernel has given its pages: zeros it would only promise.
fn touched(planned: MessageBuffers) -> Vec<u8> {
    let mut buffer = vec![1; size(planned)];
    buffer.clear();
    buffer
}
