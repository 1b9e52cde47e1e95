//! Allocation counters.
//!
//! ```
//! use oxorb_testkit::alloc::{CountingAllocator, allocations};
//!
//! #[global_allocator]
//! static ALLOCATOR: CountingAllocator = CountingAllocator::new();
//!
//! let mut buffer = Vec::with_capacity(16);
//! let (_, made) = allocations(|| buffer.extend_from_slice(b"GIOP"));
//! assert_eq!(made.count, 0);
//! let (_boxed, made) = allocations(|| Box::new([0u8; 64]));
//! assert_eq!((made.count, made.octets), (1, 64));
//! ```
// The only code of this crate that needs it: a global allocator is unsafe by nature.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::ops::{Add, Sub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// System allocator with counters. For the `#[global_allocator]` of a test binary.
#[derive(Debug, Default)]
pub struct CountingAllocator(());

impl CountingAllocator {
    /// Returns the allocator, for the initial value of the `static`.
    pub const fn new() -> Self {
        Self(())
    }
}

/// Amount of allocations. Growing a block counts as an allocation; freeing does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Number of allocations.
    pub count: u64,
    /// Total number of octets.
    pub octets: u64,
}

/// Runs `work` and returns its allocations on this thread.
///
/// # Panics
/// If [`CountingAllocator`] is not the global allocator of this binary.
pub fn allocations<R>(work: impl FnOnce() -> R) -> (R, Allocations) {
    assert_installed();
    let before = LOCAL.get();
    let result = work();
    (result, LOCAL.get() - before)
}

/// Runs `work` and returns the allocations of all threads of this process meanwhile, including the test harness: for a
/// test alone in its binary.
///
/// # Panics
/// If [`CountingAllocator`] is not the global allocator of this binary.
pub fn process_allocations<R>(work: impl FnOnce() -> R) -> (R, Allocations) {
    assert_installed();
    let before = global();
    let result = work();
    (result, global() - before)
}

/// Runs `work` five times and returns the fewest allocations of all threads of this process in one of the runs. A
/// thread that starts, or that another process has delayed, makes allocations that later runs do not repeat.
///
/// # Panics
/// If [`CountingAllocator`] is not the global allocator of this binary.
pub fn fewest_allocations(mut work: impl FnMut()) -> Allocations {
    let runs = (0..5).map(|_| process_allocations(&mut work).1);
    runs.min_by_key(|made| made.count).expect("five runs")
}

/// Returns the allocations of this thread since it began.
///
/// For a foreign thread that occasionally runs our code, such as a server's: the difference between two calls is the
/// number of allocations in between. Always zero unless [`CountingAllocator`] is the global allocator of this binary.
pub fn local() -> Allocations {
    LOCAL.get()
}

/// Returns the allocations of all threads of this process since it began.
pub fn global() -> Allocations {
    Allocations { count: COUNT.load(Ordering::Relaxed), octets: OCTETS.load(Ordering::Relaxed) }
}

fn assert_installed() {
    let before = LOCAL.get();
    drop(black_box(Box::new(black_box(1u8))));
    assert_ne!(
        LOCAL.get(),
        before,
        "nothing is counted: this test binary needs `#[global_allocator] static ALLOCATOR: \
         CountingAllocator = CountingAllocator::new();`"
    );
}

static COUNT: AtomicU64 = AtomicU64::new(0);
static OCTETS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // Constant and without a destructor: reading it never allocates, at any time of a thread's life.
    static LOCAL: Cell<Allocations> = const { Cell::new(Allocations { count: 0, octets: 0 }) };
}

/// Stops counting in this process permanently: for programs that measure times, which counting would increase.
pub fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
}

static STOPPED: AtomicBool = AtomicBool::new(false);

fn count(octets: usize) {
    if STOPPED.load(Ordering::Relaxed) {
        return;
    }
    let one = Allocations { count: 1, octets: octets as u64 };
    LOCAL.set(LOCAL.get() + one);
    COUNT.fetch_add(one.count, Ordering::Relaxed);
    OCTETS.fetch_add(one.octets, Ordering::Relaxed);
}

// SAFETY: every request goes to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

impl Add for Allocations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { count: self.count + other.count, octets: self.octets + other.octets }
    }
}

impl Sub for Allocations {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { count: self.count - other.count, octets: self.octets - other.octets }
    }
}
