//! A camera that makes pictures like those of a video coder: every twelfth is whole, the others are differences.

use std::thread;
use std::time::{Duration, Instant};

use oxorb_stream::{Sender, SenderStatistics, TooLarge};

const BETWEEN: Duration = Duration::from_millis(40);
const WHOLE: usize = 48_000;
const DIFFERENCE: usize = 9_000;

/// What a camera saw of its sender.
pub(crate) struct Shown {
    pub(crate) pictures: u64,
    /// The longest that `Sender::send` took.
    pub(crate) longest_send: Duration,
    pub(crate) statistics: SenderStatistics,
}

/// Sends pictures for so long, 25 in a second; their times are those since `begin`.
pub(crate) fn show(
    sender: &Sender,
    begin: Instant,
    for_so_long: Duration,
) -> Result<Shown, TooLarge> {
    let picture = vec![0x5a; WHOLE];
    let (mut pictures, mut longest_send) = (0_u32, Duration::ZERO);
    let started = Instant::now();
    while BETWEEN * pictures < for_so_long {
        let due = BETWEEN * pictures;
        thread::sleep(due.saturating_sub(started.elapsed()));
        let octets = if pictures % 12 == 0 { WHOLE } else { DIFFERENCE };
        let taken = Instant::now();
        // What is dropped is counted there.
        let _ = sender.send(taken - begin, &picture[..octets])?;
        longest_send = longest_send.max(taken.elapsed());
        pictures += 1;
    }
    Ok(Shown { pictures: pictures.into(), longest_send, statistics: sender.statistics() })
}
