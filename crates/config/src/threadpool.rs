//! `[threadpool.NAME]`.

use oxorb_core::{QueueOrder, RequestBuffering, Threadpool, ThreadpoolLane};
use oxorb_rt::Priority;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::ConfigError;
use crate::file::Source;

/// More threads in one lane are a mistake.
const MAX_THREADS: u64 = 10_000;

const KNOWN: [&str; 6] = [
    "lane",
    "threads",
    "dynamic",
    "borrowing",
    "stack_size",
    "buffering",
];
const KNOWN_OF_LANE: [&str; 5] = ["name", "priority", "threads", "dynamic", "cpu"];

/// `at`: where it is, for what concerns the whole.
pub(crate) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
) -> Result<Threadpool, ConfigError> {
    for key in table.keys() {
        if !KNOWN.contains(&key.get_ref().as_ref()) {
            return Err(source.unknown(key, &KNOWN));
        }
    }
    let number = |name: &str| {
        let value = table
            .get(name)
            .map(|value| source.number(value, MAX_THREADS));
        value.transpose().map(|number| number.map(|n| n as usize))
    };
    let (threads, dynamic) = (number("threads")?, number("dynamic")?);
    let mut pool = match (table.get("lane"), threads) {
        (Some(lanes), None) => Threadpool::with_lanes(read_lanes(source, lanes)?),
        (None, Some(threads)) => Threadpool::new(threads).dynamic_threads(dynamic.unwrap_or(0)),
        (Some(_), Some(_)) => {
            return Err(source.error(at, "a threadpool has lanes or threads, not both"));
        }
        (None, None) => return Err(source.error(at, "a threadpool has lanes or threads")),
    };
    if let Some(borrowing) = table.get("borrowing")
        && source.yes_or_no(borrowing)?
    {
        pool = pool.allow_borrowing();
    }
    if let Some(octets) = table.get("stack_size") {
        pool = pool.stack_size(source.number(octets, u32::MAX.into())? as usize);
    }
    if let Some(limits) = table.get("buffering") {
        pool = pool.buffering(read_buffering(source, source.table(limits)?)?);
    }
    Ok(pool)
}

fn read_lanes(
    source: &Source<'_>,
    lanes: &Spanned<DeValue<'_>>,
) -> Result<Vec<ThreadpoolLane>, ConfigError> {
    let at = lanes.span().start;
    let wrong = || source.error(at, "lanes are written as [[threadpool.NAME.lane]]");
    let lanes = lanes.get_ref().as_array().ok_or_else(wrong)?;
    lanes.iter().map(|lane| read_lane(source, lane)).collect()
}

fn read_lane(
    source: &Source<'_>,
    lane: &Spanned<DeValue<'_>>,
) -> Result<ThreadpoolLane, ConfigError> {
    let at = lane.span().start;
    let table = source.table(lane)?;
    for key in table.keys() {
        if !KNOWN_OF_LANE.contains(&key.get_ref().as_ref()) {
            return Err(source.unknown(key, &KNOWN_OF_LANE));
        }
    }
    if let Some(name) = table.get("name") {
        source.text(name)?;
    }
    let priority = table.get("priority");
    let priority = priority.ok_or_else(|| source.error(at, "a lane has a priority"))?;
    let priority = source.number(priority, i16::MAX as u64)?;
    let priority = Priority::new(priority as i16).expect("checked just now");
    let threads = match table.get("threads") {
        Some(threads) => source.number(threads, MAX_THREADS)?,
        None => 1,
    };
    let mut read = ThreadpoolLane::new(priority, threads as usize);
    if let Some(dynamic) = table.get("dynamic") {
        read = read.dynamic_threads(source.number(dynamic, MAX_THREADS)? as usize);
    }
    if let Some(cpu) = table.get("cpu") {
        read = read.cpu(source.number(cpu, u16::MAX.into())? as usize);
    }
    Ok(read)
}

fn read_buffering(
    source: &Source<'_>,
    table: &DeTable<'_>,
) -> Result<RequestBuffering, ConfigError> {
    let mut limits = RequestBuffering::default();
    for (key, value) in table {
        let limit = || {
            source
                .number(value, u32::MAX.into())
                .map(|limit| limit as usize)
        };
        match key.get_ref().as_ref() {
            "requests" => limits.max_requests = limit()?,
            "octets" => limits.max_octets = limit()?,
            "order" => limits.order = read_order(source, value)?,
            _ => return Err(source.unknown(key, &["requests", "octets", "order"])),
        }
    }
    Ok(limits)
}

fn read_order(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<QueueOrder, ConfigError> {
    match source.text(value)? {
        "arrival" => Ok(QueueOrder::Arrival),
        "urgency" => Ok(QueueOrder::Urgency),
        _ => Err(source.error(value.span().start, "\"arrival\" or \"urgency\" is wanted")),
    }
}
