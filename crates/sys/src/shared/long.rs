//! Copies of many octets into shared words and out of them, at the speed of `memcpy`.
//!
//! A loop of atomic loads and stores moves eight octets at a time, since no compiler may put them
//! together; `memcpy` itself promises the compiler that nobody else writes. On x86 one instruction
//! moves any number, and assembly is opaque: for the compiler it is some relaxed loads and stores of
//! octets, as in the loop. Elsewhere, and for an interpreter, there is the loop alone.
//!
//! AMD processors since Zen 3 execute the instruction at a fifteenth of its speed where the destination lies 1 to 31 octets behind
//! the source, both counted within a page; for such places there is a loop of instructions that move 16 octets.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;

/// Octets from which on the instruction is faster than the loop; below it takes longer to begin.
pub(super) const LONG: usize = 1024;

/// Copies octets into words, from the octet `skip` of the first word on, or reports that it did not: they are few,
/// or this processor has nothing for it. The words are as many as they touch.
#[inline]
pub(super) fn copy_in(words: &[AtomicU64], skip: usize, octets: &[u8]) -> bool {
    if !applies(words, skip, octets.len()) {
        return false;
    }
    // SAFETY: `applies` says that so many octets from `skip` on lie within the words, which are the
    // only kind of value that is ever seen there; they are interior-mutable, so writing them through a
    // shared reference is allowed. The octets are borrowed, and lie elsewhere.
    unsafe {
        copy(octets.as_ptr(), words.as_ptr().cast::<u8>().add(skip).cast_mut(), octets.len());
    }
    true
}

/// Fills `room` from words likewise. All of it is initialised if this reports that it copied.
#[inline]
pub(super) fn copy_out(words: &[AtomicU64], skip: usize, room: &mut [MaybeUninit<u8>]) -> bool {
    if !applies(words, skip, room.len()) {
        return false;
    }
    // SAFETY: as above, the other way round: `room` is borrowed exclusively, and has as many octets.
    unsafe {
        copy(words.as_ptr().cast::<u8>().add(skip), room.as_mut_ptr().cast(), room.len());
    }
    true
}

/// Overwrites `octets` from words likewise.
#[inline]
pub(super) fn copy_to(words: &[AtomicU64], skip: usize, octets: &mut [u8]) -> bool {
    if !applies(words, skip, octets.len()) {
        return false;
    }
    // SAFETY: as above.
    unsafe {
        copy(words.as_ptr().cast::<u8>().add(skip), octets.as_mut_ptr(), octets.len());
    }
    true
}

/// Whether so many octets, which lie within the words, are better copied by the instruction.
#[inline]
fn applies(words: &[AtomicU64], skip: usize, octets: usize) -> bool {
    octets >= LONG && is_fast() && skip + octets <= size_of_val(words)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn is_fast() -> bool {
    std::arch::is_x86_feature_detected!("ermsb")
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn is_fast() -> bool {
    false
}

/// Copies octets, each of which is read once.
///
/// # Safety
/// All of them can be read, and written where they go, from here until this returns; both do not
/// overlap. Another process may change either meanwhile.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, octets: usize) {
    if SLOW.contains(&(to.addr().wrapping_sub(from.addr()) % PAGE)) {
        // SAFETY: the caller's.
        return unsafe { copy_in_blocks(from, to, octets) };
    }
    // SAFETY: the caller's. The direction flag is clear at any time, as the ABI demands; registers that
    // it changes are declared, and memory may have changed.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") octets => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
}

/// Copies as [`copy`] does, 64 octets at a time and the rest by the instruction.
///
/// # Safety
/// As of [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[cold]
unsafe fn copy_in_blocks(from: *const u8, to: *mut u8, octets: usize) {
    // SAFETY: the caller's; each block lies within the octets, since as many are left. SSE2 is part of every x86-64. What is
    // said of registers and of memory in `copy` holds here, too; flags change.
    unsafe {
        std::arch::asm!(
            "test {blocks}, {blocks}",
            "jz 3f",
            "2:",
            "movdqu {a}, [rsi]",
            "movdqu {b}, [rsi + 16]",
            "movdqu {c}, [rsi + 32]",
            "movdqu {d}, [rsi + 48]",
            "movdqu [rdi], {a}",
            "movdqu [rdi + 16], {b}",
            "movdqu [rdi + 32], {c}",
            "movdqu [rdi + 48], {d}",
            "add rsi, 64",
            "add rdi, 64",
            "dec {blocks}",
            "jnz 2b",
            "3:",
            "rep movsb",
            blocks = inout(reg) octets / BLOCK => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            inout("rcx") octets % BLOCK => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack)
        );
    }
}

/// Octets of a block.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BLOCK: usize = 64;

/// Page of the processor.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PAGE: usize = 4096;

/// Distances within a page at which the instruction is slow on some processors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const SLOW: std::ops::Range<usize> = 1..32;

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy(_from: *const u8, _to: *mut u8, _octets: usize) {
    unreachable!("there is no such instruction")
}
