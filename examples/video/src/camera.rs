//! Camera that makes pictures like those of a video coder: every twelfth is complete, the others are differences.

use std::thread;
use std::time::{Duration, Instant};

use oxorb_stream::{Sender, SenderStatistics, TooLarge};

const BETWEEN: Duration = Duration::from_millis(40);
const WHOLE: usize = 48_000;
const DIFFERENCE: usize = 9_000;

/// Observations of a camera's sender.
pub(crate) struct Shown {
    pub(crate) pictures: u64,
    /// Longest time of `Sender::send`.
    pub(crate) longest_send: Duration,
    pub(crate) statistics: SenderStatistics,
}

/// Sends pictures for the given time, 25 per second; their times are relative to `begin`.
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
        // The sender counts dropped pictures.
        let _ = sender.send(taken - begin, &picture[..octets])?;
        longest_send = longest_send.max(taken.elapsed());
        pictures += 1;
    }
    Ok(Shown { pictures: pictures.into(), longest_send, statistics: sender.statistics() })
}
