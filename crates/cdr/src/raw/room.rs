use crate::prelude::*;
use core::mem::ManuallyDrop;

use crate::large::{LARGE_BUFFER, grows_to};
use crate::primitive::Primitive;

/// Number of free octets with which any number can be written, padding included, without an exact
/// check.
const MARGIN: isize = 24;

/// Octets that an encoder has written, with space for more: a vector in its parts, of which all
/// octets are initialised.
///
/// Positions count from the alignment origin, so the next aligned position takes two instructions,
/// and writing a number about ten. Octets gathered elsewhere count as if they were here; the origin
/// may then be before the buffer.
///
/// # Invariants
/// 1. `base - origin` is the start of a vector's memory, and `limit + origin + MARGIN - 1` its
///    capacity.
/// 2. All octets of the capacity are initialised.
/// 3. `origin + at`, the used part of the capacity, is neither negative nor more than the capacity:
///    from `at` on, `limit + MARGIN - 1 - at` octets are free. Below the limit, these are at least
///    `MARGIN`.
/// 4. None of these sums overflows.
#[derive(Debug)]
pub(crate) struct Room {
    /// Alignment origin.
    base: *mut u8,
    /// Offset from `base` of the next octet to be written; octets after it are scratch.
    at: isize,
    /// Offset from `base` of the first position with fewer than `MARGIN` octets after it.
    limit: isize,
    /// Offset of `base` from the start of the memory.
    origin: isize,
}

/// Fields that change when the memory is reallocated.
#[repr(C)]
struct Grown {
    base: *mut u8,
    limit: isize,
}

// SAFETY: it is the sole owner of its memory, like the vector that it was made from.
unsafe impl Send for Room {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for Room {}

impl Room {
    /// Creates a room from a buffer, whose contents are ignored.
    #[inline]
    pub(crate) fn new(mut buffer: Vec<u8>) -> Self {
        if buffer.len() < buffer.capacity() {
            initialise(&mut buffer);
        }
        let mut buffer = ManuallyDrop::new(buffer);
        Self {
            base: buffer.as_mut_ptr(),
            at: 0,
            // The cast is lossless, because the capacity of a vector is at most `isize::MAX`.
            limit: buffer.capacity() as isize - (MARGIN - 1),
            origin: 0,
        }
    }

    /// Returns the buffer, and the number of used octets.
    #[inline]
    pub(crate) fn into_parts(self) -> (Vec<u8>, usize) {
        let room = ManuallyDrop::new(self);
        // SAFETY: the room is neither used any more, nor dropped.
        (unsafe { room.buffer() }, room.used())
    }

    /// Returns the number of used octets of the buffer.
    #[inline(always)]
    pub(crate) fn used(&self) -> usize {
        (self.origin + self.at).cast_unsigned()
    }

    /// Returns the offset of the next octet from the alignment origin; only the low three bits are
    /// significant.
    #[inline(always)]
    pub(crate) fn phase(&self) -> usize {
        self.at.cast_unsigned()
    }

    /// Returns the alignment origin, in the form that [`set_origin`](Self::set_origin) takes.
    #[inline(always)]
    pub(crate) fn origin(&self) -> isize {
        self.origin
    }

    /// Makes the next octet the alignment origin.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.set_origin(self.origin + self.at);
    }

    /// Restores an earlier alignment origin.
    #[inline]
    pub(crate) fn set_origin(&mut self, origin: isize) {
        let further = origin - self.origin;
        self.move_origin(further).expect("an origin is close to the buffer");
    }

    /// Counts octets stored elsewhere as if they were written here; `None` on overflow.
    #[inline]
    pub(crate) fn skip(&mut self, octets: usize) -> Option<()> {
        self.move_origin(-isize::try_from(octets).ok()?)
    }

    /// Truncates the buffer to its first `used` octets.
    ///
    /// # Panics
    /// When fewer are used.
    #[inline]
    pub(crate) fn truncate(&mut self, used: usize) {
        assert!(used <= self.used(), "only what was written can be forgotten");
        // Computed from `used` and not by a subtraction from `at`: otherwise the next write would have to wait for the
        // last one.
        self.at = used.cast_signed() - self.origin;
    }

    /// Writes a number, after zeros as padding.
    #[inline(always)]
    pub(crate) fn number<T: Primitive>(&mut self, v: T, swap: bool) {
        const {
            assert!(T::ALIGN.is_power_of_two() && T::SIZE.is_multiple_of(T::ALIGN));
            assert!(T::ALIGN + T::SIZE <= MARGIN.cast_unsigned());
            assert!(size_of::<T::Wire>() == T::SIZE);
        }
        if self.at >= self.limit {
            self.grow(MARGIN);
        }
        let (size, align) = const { (T::SIZE.cast_signed(), T::ALIGN.cast_signed()) };
        // Only two dependent instructions lead from one position to the next, so that the CPU can overlap consecutive
        // writes.
        let end = (self.at + (align - 1 + size)) & -align;
        if align > 1 {
            // Writes as many zeros as padding can have, and then the number over some of them. This needs no branch and
            // leaves no stale octets.
            // SAFETY: `MARGIN` octets are free from here (3), which is more than `ALIGN`.
            unsafe { self.next().write_bytes(0, T::ALIGN) };
        }
        let place = self.base.wrapping_offset(end - size).cast::<T::Wire>();
        // SAFETY: the number begins at most `ALIGN - 1` octets further on, and takes `SIZE`:
        // together fewer than the `MARGIN` octets that are free (3).
        unsafe {
            if swap {
                core::hint::cold_path(); // a branch that is foreseen costs less than to swap and then choose
                place.write_unaligned(v.to_wire(true));
            } else {
                place.write_unaligned(v.to_wire(false));
            }
        }
        self.at = end;
        self.check();
    }

    /// Returns the next octets, counted as used; their contents are unspecified.
    #[inline(always)]
    pub(crate) fn claim(&mut self, octets: usize) -> &mut [u8] {
        let octets = length(octets);
        if octets > self.free() {
            self.grow(octets);
        }
        let start = self.next();
        self.at += octets;
        self.check();
        // SAFETY: this many octets were free from `start` (3), are initialised (2) and borrowed as
        // long as the room is.
        unsafe { core::slice::from_raw_parts_mut(start, octets.cast_unsigned()) }
    }

    /// Returns the octets after zeros up to a multiple of `align`, counted as used; their contents
    /// are unspecified. Cheapest if both numbers are constants.
    ///
    /// # Panics
    /// When `align` is not a power of two.
    #[inline(always)]
    pub(crate) fn claim_aligned(&mut self, align: usize, octets: usize) -> &mut [u8] {
        assert!(align.is_power_of_two());
        let (align, octets) = (length(align), length(octets));
        let most = align.checked_add(octets).expect(TOO_LONG);
        // If `most` is a constant of at most `MARGIN`, only the comparison with the limit remains in the code.
        let enough = if most <= MARGIN { self.at < self.limit } else { self.free() >= most };
        if !enough {
            self.grow(most);
        }
        if align > 1 {
            // SAFETY: more than `align` octets are free from here (3).
            unsafe { self.next().write_bytes(0, align.cast_unsigned()) };
        }
        let start = (self.at + (align - 1)) & -align;
        self.at = start + octets;
        self.check();
        let start = self.base.wrapping_offset(start);
        // SAFETY: `start` is fewer than `align` octets further on, and `align + octets` were free (3); they are initialised
        // (2) and borrowed as long as the room is.
        unsafe { core::slice::from_raw_parts_mut(start, octets.cast_unsigned()) }
    }

    /// Writes zeros up to a multiple of `align`, a power of two up to eight.
    #[inline(always)]
    pub(crate) fn align(&mut self, align: usize) {
        self.claim_aligned(align, 0);
    }

    /// Reserves space for `octets` octets, and the margin, so that the last of them need no exact
    /// check.
    #[inline]
    pub(crate) fn reserve(&mut self, octets: usize) {
        let octets = octets.checked_add(MARGIN.cast_unsigned()).expect(TOO_LONG);
        let octets = length(octets);
        if octets > self.free() {
            self.grow(octets);
        }
    }

    /// Returns the used octets.
    #[inline]
    pub(crate) fn written_mut(&mut self) -> &mut [u8] {
        let start = self.base.wrapping_offset(-self.origin);
        // SAFETY: from the start of the memory (1), the used part is within the capacity (3),
        // initialised (2) and borrowed as long as the room is.
        unsafe { core::slice::from_raw_parts_mut(start, self.used()) }
    }

    /// Returns the used octets.
    #[inline]
    pub(crate) fn written(&self) -> &[u8] {
        let start = self.base.wrapping_offset(-self.origin);
        // SAFETY: from the start of the memory (1), the used part is within the capacity (3),
        // initialised (2) and borrowed as long as the room is.
        unsafe { core::slice::from_raw_parts(start, self.used()) }
    }

    /// Returns the number of octets free without growing.
    #[inline(always)]
    fn free(&self) -> isize {
        self.limit + (MARGIN - 1) - self.at
    }

    /// Returns the address of the next octet to be written.
    #[inline(always)]
    fn next(&self) -> *mut u8 {
        self.base.wrapping_offset(self.at)
    }

    /// Moves the alignment origin by `octets` octets; `None` on overflow.
    #[inline]
    fn move_origin(&mut self, octets: isize) -> Option<()> {
        let origin = self.origin.checked_add(octets)?;
        let limit = self.limit.checked_sub(octets)?;
        limit.checked_add(MARGIN - 1)?;
        self.at -= octets;
        self.limit = limit;
        self.origin = origin;
        self.base = self.base.wrapping_offset(octets);
        Some(())
    }

    /// Grows the buffer until at least `octets` octets are free.
    ///
    /// Passes the fields by value and not the room by reference, so that a loop that writes numbers
    /// keeps them in registers.
    #[inline(always)]
    fn grow(&mut self, octets: isize) {
        let Room { base, at, limit, origin } = *self;
        // SAFETY: these are the fields of a room (1 to 4), whose base and limit are replaced by
        // those of the grown one.
        let Grown { base, limit } = unsafe { grown(base, at, limit, origin, octets) };
        self.base = base;
        self.limit = limit;
    }

    /// Returns the vector that this room was made from.
    ///
    /// # Safety
    /// The vector shares the room's memory: one of the two must neither be used any more, nor
    /// dropped.
    #[inline(always)]
    unsafe fn buffer(&self) -> Vec<u8> {
        let start = self.base.wrapping_offset(-self.origin);
        let capacity = (self.limit + self.origin + (MARGIN - 1)).cast_unsigned();
        // SAFETY: start and capacity are those of a vector (1) of initialised octets (2).
        unsafe { Vec::from_raw_parts(start, capacity, capacity) }
    }

    /// Checks the invariants as far as possible, in debug builds.
    #[inline(always)]
    fn check(&self) {
        debug_assert!(self.origin + self.at >= 0);
        debug_assert!(self.free() >= 0);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: the room ends here.
        drop(unsafe { self.buffer() });
    }
}

const TOO_LONG: &str = "no message is as long as memory";

/// Converts a number of octets, which must fit in memory.
#[inline(always)]
fn length(octets: usize) -> isize {
    isize::try_from(octets).expect(TOO_LONG)
}

/// Extends a vector with zeros to its capacity.
#[cold]
#[inline(never)]
fn initialise(buffer: &mut Vec<u8>) {
    buffer.resize(buffer.capacity(), 0);
}

/// Returns the base and the limit of a room after growing until `octets` octets are free.
///
/// Aborts rather than unwinds (`extern "C"`), since the memory temporarily has no owner.
///
/// # Safety
/// The arguments must be those of a room, whose base and limit are not used any more.
#[cold]
#[inline(never)]
unsafe extern "C" fn grown(
    base: *mut u8,
    at: isize,
    limit: isize,
    origin: isize,
    octets: isize,
) -> Grown {
    let room = ManuallyDrop::new(Room { base, at, limit, origin });
    // SAFETY: of the room, only the position is used any more, and it is not dropped.
    let mut buffer = unsafe { room.buffer() };
    let needed = room.used().checked_add(octets.cast_unsigned());
    let wanted = needed.expect(TOO_LONG).max(256);
    // Growing by a factor keeps the total cost linear. A smaller factor for large buffers wastes less memory.
    let more = match buffer.len() < LARGE_BUFFER {
        true => buffer.len(),
        false => buffer.len() / 2,
    };
    let wanted = wanted.max(buffer.len().saturating_add(more));
    grows_to(wanted);
    buffer.resize(wanted, 0);
    initialise(&mut buffer);
    let mut buffer = ManuallyDrop::new(buffer);
    let limit = length(buffer.capacity()).checked_sub(MARGIN - 1 + origin);
    Grown { base: buffer.as_mut_ptr().wrapping_offset(origin), limit: limit.expect(TOO_LONG) }
}
