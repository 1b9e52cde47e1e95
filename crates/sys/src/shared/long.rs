//! Large copies into shared words and out of them, at the speed of `memcpy`.
//!
//! A loop of atomic loads and stores moves only eight octets at a time, because the compiler does not merge atomic
//! accesses. A call of `memcpy` itself is not allowed, because it promises the compiler that there is no other writer.
//! On x86, one instruction (`rep movsb`) moves any number of octets. Assembly is opaque to the compiler, for which the
//! instruction amounts to relaxed loads and stores of octets, as in the loop. On other processors, and under Miri, only
//! the loop exists.
//!
//! AMD processors since Zen 3 execute the instruction at a fifteenth of its usual speed if the
//! destination is 1 to 31 octets after the source, both modulo the page size. Such copies use a
//! loop of instructions that move 16 octets each.

use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;

/// Smallest copy, in octets, for which the instruction is faster than the loop despite its start-up
/// time.
pub(super) const LONG: usize = 1024;

/// Copies octets into words, starting at octet `skip` of the first word. `words` must be exactly the words that the
/// copy touches. If there are fewer than [`LONG`] octets, or this processor has no suitable instruction, copies nothing
/// and returns `false`.
#[inline]
pub(super) fn copy_in(words: &[AtomicU64], skip: usize, octets: &[u8]) -> bool {
    if !applies(words, skip, octets.len()) {
        return false;
    }
    // SAFETY: `applies` ensures that `octets` octets from `skip` on are within the words, which is
    // the only way this memory is ever accessed; they are interior-mutable, so writing them through
    // a shared reference is allowed. The source is borrowed, and does not overlap.
    unsafe {
        copy(octets.as_ptr(), words.as_ptr().cast::<u8>().add(skip).cast_mut(), octets.len());
    }
    true
}

/// Fills `room` from words, the reverse of [`copy_in`]. Initialises all of `room` if it returns
/// `true`.
#[inline]
pub(super) fn copy_out(words: &[AtomicU64], skip: usize, room: &mut [MaybeUninit<u8>]) -> bool {
    if !applies(words, skip, room.len()) {
        return false;
    }
    // SAFETY: as above, in the reverse direction: `room` is borrowed exclusively, and has the same
    // length.
    unsafe {
        copy(words.as_ptr().cast::<u8>().add(skip), room.as_mut_ptr().cast(), room.len());
    }
    true
}

/// Overwrites `octets` from words, the reverse of [`copy_in`].
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

/// Reports whether the instruction is preferable for this number of octets, which must be within
/// the words.
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

/// Copies octets, reading each of them once.
///
/// # Safety
/// The source must be readable and the destination writable until this returns, and they must not
/// overlap. Another process may change either meanwhile.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, octets: usize) {
    if SLOW.contains(&(to.addr().wrapping_sub(from.addr()) % PAGE)) {
        // SAFETY: ensured by the caller.
        return unsafe { copy_in_blocks(from, to, octets) };
    }
    // SAFETY: ensured by the caller. The ABI requires the direction flag to be clear; the modified
    // registers are declared, and memory is assumed to change.
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

/// Copies as [`copy`] does, in blocks of 64 octets and the rest by the instruction.
///
/// # Safety
/// As for [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[cold]
unsafe fn copy_in_blocks(from: *const u8, to: *mut u8, octets: usize) {
    // SAFETY: ensured by the caller; each block is within the octets that are left. SSE2 is part of
    // every x86-64. The remarks on registers and memory in `copy` apply here, too; flags change.
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

/// Size of a block, in octets.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BLOCK: usize = 64;

/// Page size of the processor, in octets.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const PAGE: usize = 4096;

/// Distances modulo the page size at which the instruction is slow on some processors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const SLOW: std::ops::Range<usize> = 1..32;

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn copy(_from: *const u8, _to: *mut u8, _octets: usize) {
    unreachable!("there is no such instruction")
}
