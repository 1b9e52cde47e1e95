//! Unpredictable random octets.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns octets of the kernel's random source (`getrandom`).
///
/// One system call. Blocks only until the kernel is seeded, early at boot.
///
/// # Errors
/// What the kernel reports; none on a running Linux.
pub fn octets<const N: usize>() -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    let mut filled = 0;
    while filled < N {
        match getrandom(&mut octets[filled..], GetRandomFlags::empty()) {
            Ok(more) => filled += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::octets;

    #[test]
    fn octets_differ_from_call_to_call() {
        let drawn = std::array::from_fn::<[u8; 16], 64, _>(|_| octets().unwrap());
        let different: std::collections::BTreeSet<_> = drawn.iter().collect();
        assert_eq!(different.len(), drawn.len());
    }
}
