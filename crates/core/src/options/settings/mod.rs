//! Table of all settings by argument or environment variable.

mod calls;
mod connections;
mod limits;
mod log;
mod messages;
mod references;
mod security;
mod serving;

use super::Options;

/// Setting by argument or environment.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Name, which follows `-ORB` and, in upper case, `OXORB_`.
    pub name: &'static str,
    /// Form of the value, as `--help` would print it.
    pub value: &'static str,
    /// Description, in one sentence or more.
    pub help: &'static str,
    pub(super) apply: fn(&mut Options, &str) -> Result<(), String>,
}

/// All settings by argument or environment.
pub static SETTINGS: &[Setting] = &JOINED;

/// Settings of each topic, in the order of their documentation.
const TOPICS: [&[Setting]; 8] = [
    references::ALL,
    calls::ALL,
    connections::ALL,
    security::ALL,
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
