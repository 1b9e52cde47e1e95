use crate::prelude::*;
use core::mem::ManuallyDrop;

use crate::large::{LARGE_BUFFER, grows_to};
use crate::primitive::Primitive;

/// More octets than any number takes with its padding: where so many are free, one can be written without a closer look.
const MARGIN: isize = 24;

/// Octets that an encoder has written, and room for more: a vector as its parts, of which all
/// octets are initialised.
///
/// Positions count from the origin, which is where alignment counts from: so the next aligned position is two instructions
/// away, and a number takes about ten. Octets that were gathered elsewhere count as if they were here; the origin may lie
/// before the buffer then.
///
/// # What always holds
/// 1. `base - origin` is the start of a vector's memory, and `limit + origin + MARGIN - 1` its capacity.
/// 2. All octets of the capacity are initialised.
/// 3. `origin + at`, what is used of the capacity, is neither negative nor more than the capacity: from `at`, as many
///    octets are free as `limit + MARGIN - 1 - at`. Below the limit, that is `MARGIN` at least.
/// 4. None of these sums overflows.
#[derive(Debug)]
pub(crate) struct Room {
    /// Position from which alignment counts.
    base: *mut u8,
    /// Octets from `base` to what will be written next; what lies behind is scratch.
    at: isize,
    /// Octets from `base` to the first place with fewer than `MARGIN` octets behind it.
    limit: isize,
    /// Octets from the start of the memory to `base`.
    origin: isize,
}

/// Fields that change when the memory does.
#[repr(C)]
struct Grown {
    base: *mut u8,
    limit: isize,
}

// SAFETY: it owns its memory alone, as the vector does that it was made of.
unsafe impl Send for Room {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Room {}

impl Room {
    /// Returns the room of a buffer, whose contents do not matter.
    #[inline]
    pub(crate) fn new(mut buffer: Vec<u8>) -> Self {
        if buffer.len() < buffer.capacity() {
            initialise(&mut buffer);
        }
        let mut buffer = ManuallyDrop::new(buffer);
        Self {
            base: buffer.as_mut_ptr(),
            at: 0,
            // A capacity is at most `isize::MAX`.
            limit: buffer.capacity() as isize - (MARGIN - 1),
            origin: 0,
        }
    }

    /// The buffer, and how much of it is used.
    #[inline]
    pub(crate) fn into_parts(self) -> (Vec<u8>, usize) {
        let room = ManuallyDrop::new(self);
        // SAFETY: the room is not used any more, nor dropped.
        (unsafe { room.buffer() }, room.used())
    }

    /// Octets used of the buffer.
    #[inline(always)]
    pub(crate) fn used(&self) -> usize {
        (self.origin + self.at).cast_unsigned()
    }

    /// Octets from where alignment counts to what will be written next; only the low three bits mean anything.
    #[inline(always)]
    pub(crate) fn phase(&self) -> usize {
        self.at.cast_unsigned()
    }

    /// Returns the position from which alignment counts, as [`set_origin`](Self::set_origin) takes
    /// it.
    #[inline(always)]
    pub(crate) fn origin(&self) -> isize {
        self.origin
    }

    /// Lets alignment count from what will be written next.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.set_origin(self.origin + self.at);
    }

    /// Lets alignment count from where it did before.
    #[inline]
    pub(crate) fn set_origin(&mut self, origin: isize) {
        let further = origin - self.origin;
        self.move_origin(further).expect("an origin is close to the buffer");
    }

    /// Counts octets that are elsewhere as if they were written here; `None` if there cannot be so many.
    #[inline]
    pub(crate) fn skip(&mut self, octets: usize) -> Option<()> {
        self.move_origin(-isize::try_from(octets).ok()?)
    }

    /// Forgets what was written after so many octets of the buffer.
    ///
    /// # Panics
    /// If fewer are used.
    #[inline]
    pub(crate) fn truncate(&mut self, used: usize) {
        assert!(used <= self.used(), "only what was written can be forgotten");
        // Not by how much less it is: what is written next would wait for what was written last.
        self.at = used.cast_signed() - self.origin;
    }

    /// Writes a number, and zeros up to where it is aligned.
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
        // From one position to the next in two instructions that wait for each other.
        let end = (self.at + (align - 1 + size)) & -align;
        if align > 1 {
            // As many as padding can have, and then the number over some of them: there is no branch, nor a stale octet.
            // SAFETY: `MARGIN` octets are free from here (3), which is more than `ALIGN`.
            unsafe { self.next().write_bytes(0, T::ALIGN) };
        }
        let place = self.base.wrapping_offset(end - size).cast::<T::Wire>();
        // SAFETY: the number begins here or up to `ALIGN - 1` octets further on, and takes `SIZE`: together fewer than the
        // `MARGIN` octets that are free (3).
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

    /// The next octets, counted as used; what they hold is anything.
    #[inline(always)]
    pub(crate) fn claim(&mut self, octets: usize) -> &mut [u8] {
        let octets = length(octets);
        if octets > self.free() {
            self.grow(octets);
        }
        let start = self.next();
        self.at += octets;
        self.check();
        // SAFETY: so many octets were free from `start` (3), are initialised (2) and borrowed as long as the room is.
        unsafe { core::slice::from_raw_parts_mut(start, octets.cast_unsigned()) }
    }

    /// The octets after zeros up to a multiple of `align`, counted as used; what they hold is anything. Cheapest if both
    /// numbers are constants.
    ///
    /// # Panics
    /// If `align` is not a power of two.
    #[inline(always)]
    pub(crate) fn claim_aligned(&mut self, align: usize, octets: usize) -> &mut [u8] {
        assert!(align.is_power_of_two());
        let (align, octets) = (length(align), length(octets));
        let most = align.checked_add(octets).expect(TOO_LONG);
        // Comparing with the limit is all that is left of it if `most` is a constant.
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

    /// Makes room for so many octets, and for the closer look that the last of them would need otherwise.
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
        // SAFETY: from the start of the memory (1), what is used is within the capacity (3), initialised (2) and borrowed as
        // long as the room is.
        unsafe { core::slice::from_raw_parts_mut(start, self.used()) }
    }

    /// Returns what is used.
    #[inline]
    pub(crate) fn written(&self) -> &[u8] {
        let start = self.base.wrapping_offset(-self.origin);
        // SAFETY: from the start of the memory (1), what is used is within the capacity (3), initialised (2) and borrowed as
        // long as the room is.
        unsafe { core::slice::from_raw_parts(start, self.used()) }
    }

    /// Octets free without growing.
    #[inline(always)]
    fn free(&self) -> isize {
        self.limit + (MARGIN - 1) - self.at
    }

    /// The next octet to write.
    #[inline(always)]
    fn next(&self) -> *mut u8 {
        self.base.wrapping_offset(self.at)
    }

    /// Lets alignment count from so many octets further on; `None` if something would overflow.
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

    /// Makes so many octets free, at least.
    ///
    /// The room goes to the function by its parts and not by reference: so a loop that writes numbers keeps them in registers.
    #[inline(always)]
    fn grow(&mut self, octets: isize) {
        let Room { base, at, limit, origin } = *self;
        // SAFETY: these are the parts of a room (1 to 4), whose base and limit are replaced by those of the grown one.
        let Grown { base, limit } = unsafe { grown(base, at, limit, origin, octets) };
        self.base = base;
        self.limit = limit;
    }

    /// The vector that this was made of.
    ///
    /// # Safety
    /// It is the room's own: one of the two must not be used any more, nor dropped.
    #[inline(always)]
    unsafe fn buffer(&self) -> Vec<u8> {
        let start = self.base.wrapping_offset(-self.origin);
        let capacity = (self.limit + self.origin + (MARGIN - 1)).cast_unsigned();
        // SAFETY: start and capacity are those of a vector (1) of initialised octets (2).
        unsafe { Vec::from_raw_parts(start, capacity, capacity) }
    }

    /// Checks the invariants, as far as they can be seen; in debug builds.
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

/// A number of octets that memory may have.
#[inline(always)]
fn length(octets: usize) -> isize {
    isize::try_from(octets).expect(TOO_LONG)
}

/// Zeros what a vector has beyond its length, and counts it.
#[cold]
#[inline(never)]
fn initialise(buffer: &mut Vec<u8>) {
    buffer.resize(buffer.capacity(), 0);
}

/// The base and the limit of a room that has grown until so many octets are free.
///
/// Aborts rather than unwinds (`extern "C"`): in between, the memory belongs to nobody.
///
/// # Safety
/// The arguments are those of a room, whose base and limit are not used any more.
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
    // SAFETY: the room is not used any more but for its position, nor dropped.
    let mut buffer = unsafe { room.buffer() };
    let needed = room.used().checked_add(octets.cast_unsigned());
    let wanted = needed.expect(TOO_LONG).max(256);
    // Growing by a factor keeps the cost of growing linear; that of large buffers wastes less.
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
