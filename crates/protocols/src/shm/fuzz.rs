//! Entry points of fuzz targets.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::shm::blocks::Blocks;
use crate::shm::ring::{Direction, Reader, WORDS, Writer};
use crate::shm::segment::{Segment, Sizes};
use crate::shm::splices::{self, give_back};
use crate::shm::{MAX_BLOCKS, MAX_RING, MIN_RING, greeting};

/// Maximum size of one buffer in octets, so that any script ends.
const MAX_BUFFER: usize = 1 << 20;

/// Total size in octets of the blocks of a direction.
const BLOCKS: u32 = MIN_RING;

/// Runs both ends of a connection's memory while a hostile peer writes into any word of it, as
/// directed by a script of three octets for each step. Payloads of the stream lie in blocks, too.
///
/// # Panics
/// If an end reads more than allowed, or more than the ring holds.
pub fn hostile(script: &[u8]) {
    let max = Sizes { ring: MAX_RING, blocks: MAX_BLOCKS };
    let _ = greeting::read(script, max);
    let segment = Segment::private(MIN_RING, BLOCKS).expect("memory");
    let reader = Reader::new(Direction::ToServer);
    let writer = Writer::new(Direction::ToClient);
    let blocks = Blocks::new(Direction::ToClient);
    let mut leased = Vec::new();
    let mut buffer = Vec::new();
    for step in script.chunks_exact(3) {
        let (what, value) = (step[0], u16::from_le_bytes([step[1], step[2]]));
        match what % 16 {
            0..=7 => scribble(&segment, what, value),
            8 | 9 => {
                let (before, max) = (buffer.len(), usize::from(value));
                if let Ok(octets) = reader.take(&segment, &mut buffer, max) {
                    assert!(octets <= max);
                    assert_eq!(buffer.len(), before + octets);
                } else {
                    assert_eq!(buffer.len(), before);
                }
            }
            10 => {
                let wanted = u32::from(value);
                if let Ok(room) = writer.room(&segment, wanted) {
                    assert!(room <= MIN_RING);
                    writer.put(&segment, &vec![what; wanted.min(room) as usize]);
                    let _ = writer.publish(&segment);
                }
            }
            11 => {
                if let Some(block) = blocks.take(&segment, u32::from(value))
                    && matches!(writer.room(&segment, 1), Ok(1..))
                {
                    assert!(
                        block.octets == u32::from(value) && block.first + block.octets <= BLOCKS
                    );
                    let at = Direction::ToClient.in_blocks(&segment, block.first);
                    segment.copy_in(at, &vec![what; usize::from(value)]);
                    writer.splice(&segment, block, blocks.send(block));
                    for _ in 1..block.octets.div_ceil(splices::PIECE) {
                        if matches!(writer.room(&segment, 1), Ok(1..)) {
                            writer.show_more();
                        }
                    }
                }
            }
            12 | 13 => {
                if let Ok(Some(splice)) = reader.lease(&segment, u32::from(value)) {
                    assert!(splice.octets > 0 && splice.first + splice.octets <= BLOCKS);
                    leased.push(splice);
                }
            }
            14 => {
                if let Some(splice) = leased.pop() {
                    give_back(&segment, Direction::ToServer, splice.ticket);
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

/// Writes into a word of the header, or an octet of the data.
fn scribble(segment: &Segment, what: u8, value: u16) {
    // Selects any word in use, but more often one of those that have a cache line of their own.
    let index = match what & 64 {
        0 => usize::from(what / 8) % 12 * 32,
        _ => (usize::from(what) * 7 + usize::from(value) / 5) % WORDS,
    };
    let word = segment.word(index);
    let order = Ordering::Relaxed;
    match what % 4 {
        0 => word.store(u32::from(value), order),
        1 => word.store(word.load(order).wrapping_add(u32::from(value)), order),
        2 => word.store(u32::MAX - u32::from(value), order),
        _ => segment.copy_in(usize::from(value) % (4 * MIN_RING as usize), &[what]),
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use oxorb_testkit::rounds;

    use super::*;

    #[test]
    fn scripts_of_all_kinds_run() {
        // The scripts come from Knuth's linear congruential generator. Miri is slow, so it runs only a few of them.
        let (mut state, scripts) = (1_u64, if cfg!(miri) { 3 } else { rounds(500, 2000) });
        for _ in 0..scripts {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as u8
            };
            let script: Vec<u8> = (0..300).map(|_| next()).collect();
            hostile(&script);
        }
    }
}
