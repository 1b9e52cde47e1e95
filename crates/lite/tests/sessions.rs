//! Two ends of a connection that do anything in any order.

use oxorb_lite::fuzz;
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_was_written_arrives_whatever_happens_between(
        protocol in 0..5_u8,
        events in prop::collection::vec((0..15_u8, any::<u8>()), 0..400),
        nonsense in prop::option::of((any::<prop::sample::Index>(), 0..2_u8)),
    ) {
        let mut data = vec![protocol];
        for (event, detail) in &events {
            data.extend([*event, *detail]);
        }
        if let Some((at, detail)) = nonsense && !events.is_empty() {
            let at = 1 + 2 * at.index(events.len());
            data[at..at + 2].copy_from_slice(&[15, detail]);
        }
        fuzz::session(&data);
    }
}
