//! Entry points of fuzz targets.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::ring::{Direction, Reader, Writer};
use crate::segment::Segment;
use crate::{MAX_RING, MIN_RING, greeting};

/// Octets that end up in one buffer, at most: a script has an end, whatever it says.
const MAX_BUFFER: usize = 1 << 20;

/// Works both ends of a connection's memory while a hostile peer writes into any word of it, as a
/// script says: three octets for each step.
///
/// # Panics
/// When an end takes more than it may, or more than the ring holds.
pub fn hostile(script: &[u8]) {
    let _ = greeting::read(script, MAX_RING);
    let segment = Segment::private(MIN_RING).expect("memory");
    let reader = Reader::new(Direction::ToServer);
    let writer = Writer::new(Direction::ToClient);
    let mut buffer = Vec::new();
    for step in script.chunks_exact(3) {
        let (what, value) = (step[0], u16::from_le_bytes([step[1], step[2]]));
        match what % 8 {
            0..=3 => scribble(&segment, what, value),
            4 | 5 => {
                let (before, max) = (buffer.len(), usize::from(value));
                if let Ok(octets) = reader.take(&segment, &mut buffer, max) {
                    assert!(octets <= max && octets <= MIN_RING as usize);
                    assert_eq!(buffer.len(), before + octets);
                } else {
                    assert_eq!(buffer.len(), before);
                }
            }
            6 => {
                let wanted = u32::from(value);
                if let Ok(room) = writer.room(&segment, wanted) {
                    assert!(room <= MIN_RING);
                    writer.put(&segment, &vec![what; wanted.min(room) as usize]);
                    let _ = writer.publish(&segment);
                }
            }
            _ => {
                let soon = Duration::from_nanos(1);
                let _ = reader.sleep(&segment, soon, || value & 1 == 0);
                let _ = writer.sleep(&segment, u32::from(value), soon, || value & 2 == 0);
            }
        }
        if buffer.len() > MAX_BUFFER {
            buffer.clear();
        }
    }
}

/// Writes into a word of the header, or an octet of the rings.
fn scribble(segment: &Segment, what: u8, value: u16) {
    // Ten lines of words; the first word of each is in use.
    let word = segment.word(usize::from(what / 8) % 10 * 32);
    let order = Ordering::Relaxed;
    match what % 4 {
        0 => word.store(u32::from(value), order),
        1 => word.store(word.load(order).wrapping_add(u32::from(value)), order),
        2 => word.store(u32::MAX - u32::from(value), order),
        _ => segment.copy_in(usize::from(value) % (2 * MIN_RING as usize), &[what]),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_all_kinds_run() {
        // A generator of Knuth's; under Miri a part of them.
        let (mut state, scripts) = (1_u64, if cfg!(miri) { 3 } else { 2000 });
        for _ in 0..scripts {
            let mut next = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) as u8
            };
            let script: Vec<u8> = (0..300).map(|_| next()).collect();
            hostile(&script);
        }
    }
}
