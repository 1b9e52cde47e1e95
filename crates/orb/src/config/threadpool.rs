//! `[threadpool.NAME]`: a threadpool, with its lanes or rate groups.

use std::num::NonZeroU64;
use std::time::Duration;

use oxorb_core::{
    DropError, LaneScheduling, MessageBuffers, QueueOrder, RateGroup, ReactorChoice,
    RequestBuffering, Reservation, SchedulingClass, Serving, Steering, Threadpool, ThreadpoolLane,
};
use oxorb_rt::Priority;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::ConfigError;
use crate::config::file::Source;

/// Largest accepted number of threads in one lane.
const MAX_THREADS: u64 = 10_000;

const KNOWN: [&str; 12] = [
    "lane",
    "front",
    "rate",
    "concurrency",
    "reactor",
    "threads",
    "dynamic",
    "borrowing",
    "stack_size",
    "buffering",
    "message_buffers",
    "value_arena",
];
const KNOWN_OF_LANE: [&str; 11] = [
    "name",
    "priority",
    "threads",
    "dynamic",
    "cpu",
    "dscp",
    "socket_priority",
    "busy_poll",
    "pacing",
    "napi",
    "scheduling",
];
const KNOWN_OF_RATE: [&str; 5] = ["name", "hz", "period", "threads", "cpu"];
const CONCURRENCIES: &str = "expected \"reactive\", \"leader-followers\", \"worker-pool\", \"thread-per-request\" or \
                             \"thread-per-connection\"";

/// Reads the table of one threadpool; `at` is the position for errors about the whole table.
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
        let value = table.get(name).map(|value| source.number(value, MAX_THREADS));
        value.transpose().map(|number| number.map(|n| n as usize))
    };
    let (threads, dynamic) = (number("threads")?, number("dynamic")?);
    let concurrency = table.get("concurrency");
    let concurrency = concurrency.map(|value| Ok((value, source.text(value)?)));
    let concurrency = concurrency.transpose()?;
    let (lanes, rates) = (table.get("lane"), table.get("rate"));
    // Without lanes, these strategies need no `threads`: `reactive` uses a single thread, and
    // `thread-per-connection` starts one for each connection.
    let has_one = |(_, text): &(_, &str)| matches!(*text, "reactive" | "thread-per-connection");
    let threads = match concurrency.as_ref().is_some_and(has_one) {
        true if lanes.is_none() && rates.is_none() => threads.or(Some(1)),
        _ => threads,
    };
    let mut pool = match (lanes, rates, threads) {
        (Some(lanes), None, None) => Threadpool::with_lanes(read_lanes(source, lanes)?),
        (None, Some(rates), None) => Threadpool::rate_groups(read_rates(source, rates)?),
        (None, None, Some(threads)) => {
            Threadpool::new(threads).dynamic_threads(dynamic.unwrap_or(0))
        }
        _ => {
            let one = "a threadpool can have only one of lanes, rates and threads";
            return Err(source.error(at, one));
        }
    };
    if let Some((value, text)) = concurrency {
        let serving = read_serving(source, value, text, &pool)?;
        pool = pool.serving(serving);
    }
    if let Some(reactor) = table.get("reactor") {
        let choice = ReactorChoice::parse(source.text(reactor)?);
        let choice = choice.map_err(|problem| source.error(reactor.span().start, problem))?;
        pool = pool.reactor(choice);
    }
    if let Some(borrowing) = table.get("borrowing")
        && source.yes_or_no(borrowing)?
    {
        pool = pool.allow_borrowing();
    }
    if let Some(octets) = table.get("stack_size") {
        pool = pool.stack_size(source.number(octets, u32::MAX.into())? as usize);
    }
    if let Some(buffers) = table.get("message_buffers") {
        let at = buffers.span().start;
        pool = pool.message_buffers(read_buffers(source, source.table(buffers)?, at)?);
    }
    if let Some(octets) = table.get("value_arena") {
        pool = pool.value_arena(source.number(octets, u32::MAX.into())? as usize);
    }
    if let Some(front) = table.get("front") {
        let (endpoint, by) = read_front(source, front)?;
        pool = pool.front(endpoint, by);
    }
    if let Some(limits) = table.get("buffering") {
        pool = pool.buffering(read_buffering(source, source.table(limits)?)?);
    }
    Ok(pool)
}

fn read_serving(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
    text: &str,
    pool: &Threadpool,
) -> Result<Serving, ConfigError> {
    let at = value.span().start;
    match text {
        "reactive" if pool.lanes().iter().any(|lane| lane.static_threads != 1) => {
            Err(source.error(at, "\"reactive\" requires one thread, or one for each lane"))
        }
        "reactive" | "leader-followers" => Ok(Serving::Reader),
        "worker-pool" => Ok(Serving::Queue),
        "thread-per-request" => Ok(Serving::ThreadPerRequest),
        "thread-per-connection" => Ok(Serving::ThreadPerConnection),
        _ => Err(source.error(at, CONCURRENCIES)),
    }
}

fn read_rates(
    source: &Source<'_>,
    rates: &Spanned<DeValue<'_>>,
) -> Result<Vec<RateGroup>, ConfigError> {
    let at = rates.span().start;
    let wrong = || source.error(at, "rates must be written as [[threadpool.NAME.rate]]");
    let rates = rates.get_ref().as_array().ok_or_else(wrong)?;
    rates.iter().map(|rate| read_rate(source, rate)).collect()
}

fn read_rate(source: &Source<'_>, rate: &Spanned<DeValue<'_>>) -> Result<RateGroup, ConfigError> {
    let at = rate.span().start;
    let table = source.table(rate)?;
    for key in table.keys() {
        if !KNOWN_OF_RATE.contains(&key.get_ref().as_ref()) {
            return Err(source.unknown(key, &KNOWN_OF_RATE));
        }
    }
    if let Some(name) = table.get("name") {
        source.text(name)?;
    }
    let threads = match table.get("threads") {
        Some(threads) => source.number(threads, MAX_THREADS)? as usize,
        None => 1,
    };
    let mut group = match (table.get("hz"), table.get("period")) {
        (Some(hz), None) => RateGroup::hz(source.number(hz, 1_000_000)? as u32, threads),
        (None, Some(period)) => {
            let micros = source.number(period, u32::MAX.into())?;
            RateGroup::every(Duration::from_micros(micros), threads)
        }
        _ => {
            return Err(source.error(at, "a rate needs hz, or a period in microseconds"));
        }
    };
    if group.period.is_zero() {
        return Err(
            source.error(at, "a rate needs hz, or a period in microseconds, greater than 0")
        );
    }
    if let Some(cpu) = table.get("cpu") {
        group = group.cpu(source.number(cpu, u16::MAX.into())? as usize);
    }
    Ok(group)
}

fn read_lanes(
    source: &Source<'_>,
    lanes: &Spanned<DeValue<'_>>,
) -> Result<Vec<ThreadpoolLane>, ConfigError> {
    let at = lanes.span().start;
    let wrong = || source.error(at, "lanes must be written as [[threadpool.NAME.lane]]");
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
    let priority = priority.ok_or_else(|| source.error(at, "a lane needs a priority"))?;
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
    if let Some(dscp) = table.get("dscp") {
        read = read.dscp(source.number(dscp, 63)? as u8);
    }
    if let Some(priority) = table.get("socket_priority") {
        read = read.socket_priority(source.number(priority, 6)? as u8);
    }
    if let Some(time) = table.get("busy_poll") {
        let micros = source.number(time, u32::MAX.into())?;
        read = read.busy_poll(Duration::from_micros(micros));
    }
    if let Some(rate) = table.get("pacing") {
        let octets = NonZeroU64::new(source.number(rate, u32::MAX.into())?);
        let wrong = || {
            source.error(
                rate.span().start,
                "the pacing of a lane must be at least 1 octet per second",
            )
        };
        read = read.pacing(octets.ok_or_else(wrong)?);
    }
    if let Some(device) = table.get("napi") {
        read = read.napi(source.text(device)?);
    }
    if let Some(scheduling) = table.get("scheduling") {
        read = read.scheduling(read_scheduling(source, scheduling)?);
    }
    Ok(read)
}

/// Reads the endpoint that the lanes share and the criterion that selects a lane.
fn read_front(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<(String, Steering), ConfigError> {
    const KNOWN: [&str; 2] = ["endpoint", "by"];
    let table = source.table(value)?;
    if let Some(key) = table.keys().find(|key| !KNOWN.contains(&key.get_ref().as_ref())) {
        return Err(source.unknown(key, &KNOWN));
    }
    let (Some(endpoint), Some(by)) = (table.get("endpoint"), table.get("by")) else {
        let wanted = "a front must have the form { endpoint = \"iiop://:PORT\", by = \"mark\" }";
        return Err(source.error(value.span().start, wanted));
    };
    let wrong = || source.error(by.span().start, "expected \"mark\" or \"processor\"");
    let steering = Steering::parse(source.text(by)?).ok_or_else(wrong)?;
    Ok((source.text(endpoint)?.to_owned(), steering))
}

/// Reads a scheduling class, or a table with the times of a reservation in microseconds.
fn read_scheduling(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<LaneScheduling, ConfigError> {
    let at = value.span().start;
    if value.get_ref().is_table() {
        return read_reservation(source, source.table(value)?, at).map(LaneScheduling::Reserved);
    }
    let class = match source.text(value)? {
        "SCHED_FIFO" => SchedulingClass::Fifo,
        "SCHED_RR" => SchedulingClass::RoundRobin,
        "SCHED_OTHER" => SchedulingClass::Other,
        "SCHED_IDLE" => SchedulingClass::Idle,
        _ => {
            let wanted = "expected \"SCHED_FIFO\", \"SCHED_RR\", \"SCHED_OTHER\", \"SCHED_IDLE\" or, for \
                          SCHED_DEADLINE, { runtime = 2000, deadline = 10000, period = 20000 } in microseconds";
            return Err(source.error(at, wanted));
        }
    };
    Ok(LaneScheduling::Class(class))
}

fn read_reservation(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
) -> Result<Reservation, ConfigError> {
    const KNOWN: [&str; 3] = ["runtime", "deadline", "period"];
    if let Some(key) = table.keys().find(|key| !KNOWN.contains(&key.get_ref().as_ref())) {
        return Err(source.unknown(key, &KNOWN));
    }
    let time = |name: &str| {
        let value = table.get(name);
        let micros = value.map(|value| source.number(value, u32::MAX.into()));
        micros.transpose().map(|micros| micros.map(Duration::from_micros))
    };
    let (Some(runtime), Some(period)) = (time("runtime")?, time("period")?) else {
        let wanted =
            "a reservation needs a runtime and a period, in microseconds, and can have a deadline";
        return Err(source.error(at, wanted));
    };
    Ok(Reservation { runtime, deadline: time("deadline")?.unwrap_or(period), period })
}

fn read_buffers(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
) -> Result<MessageBuffers, ConfigError> {
    let number =
        |name: &str, most: u64| match table.get(name) {
            Some(value) => source.number(value, most).map(|number| number as usize),
            None => Err(source
                .error(at, "message buffers must have the form { connections = N, octets = N }")),
        };
    if let Some(key) =
        table.keys().find(|key| !["connections", "octets"].contains(&key.get_ref().as_ref()))
    {
        return Err(source.unknown(key, &["connections", "octets"]));
    }
    Ok(MessageBuffers {
        connections: number("connections", 100_000)?,
        octets: number("octets", u32::MAX.into())?,
    })
}

fn read_buffering(
    source: &Source<'_>,
    table: &DeTable<'_>,
) -> Result<RequestBuffering, ConfigError> {
    let mut limits = RequestBuffering::default();
    for (key, value) in table {
        let limit = || source.number(value, u32::MAX.into()).map(|limit| limit as usize);
        match key.get_ref().as_ref() {
            "requests" => limits.max_requests = limit()?,
            "octets" => limits.max_octets = limit()?,
            "order" => limits.order = read_order(source, value)?,
            "drop" => {
                let rules = source.text(value)?.parse();
                let told = |error: DropError| source.error(value.span().start, error.to_string());
                limits.drops = rules.map_err(told)?;
            }
            _ => return Err(source.unknown(key, &["requests", "octets", "order", "drop"])),
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
        "rate" => Ok(QueueOrder::Rate),
        _ => Err(source.error(value.span().start, "expected \"arrival\", \"urgency\" or \"rate\"")),
    }
}
