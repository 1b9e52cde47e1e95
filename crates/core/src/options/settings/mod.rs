//! The table of everything that can be set by argument or environment.

mod calls;
mod connections;
mod limits;
mod log;
mod messages;
mod references;
mod serving;

use super::Options;

/// One thing that can be set by argument or environment.
#[derive(Clone, Copy)]
pub struct Setting {
    /// After `-ORB`, and upper-cased after `OXORB_`.
    pub name: &'static str,
    /// What it takes, as `--help` would print it.
    pub value: &'static str,
    /// One sentence.
    pub help: &'static str,
    pub(super) apply: fn(&mut Options, &str) -> Result<(), String>,
}

/// Everything that can be set by argument or environment.
pub static SETTINGS: &[Setting] = &JOINED;

/// The settings of each topic, in the order in which they are told.
const TOPICS: [&[Setting]; 7] = [
    references::ALL,
    calls::ALL,
    connections::ALL,
    messages::ALL,
    serving::ALL,
    log::ALL,
    limits::ALL,
];

const JOINED: [Setting; count()] = joined();

const fn count() -> usize {
    let (mut count, mut topic) = (0, 0);
    while topic < TOPICS.len() {
        count += TOPICS[topic].len();
        topic += 1;
    }
    count
}

const fn joined<const N: usize>() -> [Setting; N] {
    let mut all = [TOPICS[0][0]; N];
    let (mut at, mut topic) = (0, 0);
    while topic < TOPICS.len() {
        let mut one = 0;
        while one < TOPICS[topic].len() {
            all[at] = TOPICS[topic][one];
            (at, one) = (at + 1, one + 1);
        }
        topic += 1;
    }
    all
}
