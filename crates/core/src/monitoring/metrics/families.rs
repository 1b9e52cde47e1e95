//! Metric families of an ORB, in the order of the page.

use oxorb_rt::Distribution;

use super::meter::{BUCKETS, EndReading, ExceptionReading, LaneReading, Meter, bucket};
use super::snapshot::{LaneState, Snapshot};
use super::text::{Family, MetricType, Page, Value};
use crate::monitoring::Incident;
use crate::scheduler::Measurement;
use crate::scheduler::budget::BudgetSum;

/// Returns the page of an ORB. `meter`: its counts of calls and requests, if it has any.
///
/// Every family is on every page, without samples where the ORB has nothing to count.
pub(crate) fn page(snapshot: &Snapshot, meter: Option<&Meter>) -> String {
    let mut page = Page::default();
    about(&mut page, meter);
    connections(&mut page, snapshot);
    let lanes = meter.map(Meter::lanes).unwrap_or_default();
    requests(&mut page, &lanes, &meter.map(Meter::raised).unwrap_or_default());
    number(&mut page, &UNANSWERED, snapshot.unanswered);
    number(&mut page, &COLLOCATED, snapshot.collocated);
    calls(&mut page, &lanes, &meter.map(Meter::received).unwrap_or_default());
    threads(&mut page, snapshot);
    lane_states(&mut page, &snapshot.lanes);
    modules(&mut page, snapshot);
    operations(&mut page, snapshot);
    budgets(&mut page, &snapshot.budgets);
    page.finish()
}

const BUILD: Family = family("oxorb_build", MetricType::Info, "", "Version of OxORB.");

const STARTED: Family = family(
    "oxorb_start_time_seconds",
    MetricType::Gauge,
    "seconds",
    "Time at which the ORB was made, in seconds since 1970.",
);

fn about(page: &mut Page, meter: Option<&Meter>) {
    page.begin(&BUILD);
    page.sample(&BUILD, &[("version", env!("CARGO_PKG_VERSION"))], Value::Number(1));
    page.begin(&STARTED);
    let made = meter.and_then(|meter| meter.made.duration_since(std::time::UNIX_EPOCH).ok());
    if let Some(made) = made {
        page.sample(&STARTED, &[], Value::Time(u64::try_from(made.as_nanos()).unwrap_or(u64::MAX)));
    }
}

const CONNECTIONS: Family =
    family("oxorb_connections", MetricType::Gauge, "", "Open connections of clients.");

const ACCEPTED: Family = family(
    "oxorb_connections_accepted",
    MetricType::Counter,
    "",
    "Connections of clients that were accepted and served.",
);

const HANDSHAKES: Family = family(
    "oxorb_handshakes",
    MetricType::Counter,
    "",
    "Handshakes of clients over TLS, by their outcome: completed or refused.",
);

const HELD: Family = family(
    "oxorb_messages_held_bytes",
    MetricType::Gauge,
    "bytes",
    "Large messages of clients that are being received or served.",
);

const INCIDENTS: Family = family(
    "oxorb_incidents",
    MetricType::Counter,
    "",
    "Incidents, such as rejections and reached limits, with the level at which they are logged.",
);

const CLIENT_CONNECTIONS: Family = family(
    "oxorb_client_connections",
    MetricType::Gauge,
    "",
    "Open connections to servers that carry one call at a time.",
);

fn connections(page: &mut Page, snapshot: &Snapshot) {
    let statistics = &snapshot.connections;
    number(page, &CONNECTIONS, statistics.open);
    page.begin(&ACCEPTED);
    page.sample(&ACCEPTED, &[], Value::Number(statistics.accepted));
    page.begin(&HANDSHAKES);
    let refused = statistics.count(Incident::HandshakeRefused);
    for (outcome, count) in [("completed", snapshot.handshakes), ("refused", refused)] {
        page.sample(&HANDSHAKES, &[("outcome", outcome)], Value::Number(count));
    }
    number(page, &HELD, statistics.octets_held);
    page.begin(&INCIDENTS);
    for incident in Incident::ALL {
        let (name, level) = (format!("{incident:?}"), incident.level().to_string());
        let count = Value::Number(statistics.count(incident));
        page.sample(&INCIDENTS, &[("incident", name.as_str()), ("level", level.as_str())], count);
    }
    number(page, &CLIENT_CONNECTIONS, snapshot.client_connections);
}

const REQUESTS: Family = family(
    "oxorb_requests",
    MetricType::Counter,
    "",
    "Requests that ended here, by their outcome; refused ones were answered before their servant was looked up.",
);

const REQUEST_DURATION: Family = family(
    "oxorb_request_duration_seconds",
    MetricType::Histogram,
    "seconds",
    "Time from the dispatch of a request to its answer, without its time in queues.",
);

const REQUESTS_LATE: Family = family(
    "oxorb_request_deadlines_missed",
    MetricType::Counter,
    "",
    "Requests that ended, or were refused, after the deadline that their client had sent.",
);

const RAISED: Family = family(
    "oxorb_request_exceptions",
    MetricType::Counter,
    "",
    "System exceptions with which requests ended here, by minor code.",
);

const UNANSWERED: Family = family(
    "oxorb_requests_unanswered",
    MetricType::Gauge,
    "",
    "Requests that servants will answer later.",
);

const COLLOCATED: Family = family(
    "oxorb_collocated_calls",
    MetricType::Gauge,
    "",
    "Running calls of this process to its own objects, without a connection.",
);

fn requests(page: &mut Page, lanes: &[LaneReading], raised: &[ExceptionReading]) {
    ends(page, &REQUESTS, &REQUEST_DURATION, lanes, |lane| &lane.requests);
    page.begin(&REQUESTS_LATE);
    for lane in lanes {
        let names = names(lane);
        page.sample(&REQUESTS_LATE, &labels(&names), Value::Number(lane.requests.late));
    }
    exceptions(page, &RAISED, raised);
}

const CALLS: Family = family(
    "oxorb_calls",
    MetricType::Counter,
    "",
    "Calls of this process that ended, by their outcome and the lane of the calling thread.",
);

const CALL_DURATION: Family = family(
    "oxorb_call_duration_seconds",
    MetricType::Histogram,
    "seconds",
    "Time from the beginning of a call to its answer.",
);

const RECEIVED: Family = family(
    "oxorb_call_exceptions",
    MetricType::Counter,
    "",
    "System exceptions with which calls of this process ended, by minor code.",
);

fn calls(page: &mut Page, lanes: &[LaneReading], received: &[ExceptionReading]) {
    ends(page, &CALLS, &CALL_DURATION, lanes, |lane| &lane.calls);
    exceptions(page, &RECEIVED, received);
}

const THREADS: Family =
    family("oxorb_threads", MetricType::Gauge, "", "Running threads of the ORB, by their purpose.");

fn threads(page: &mut Page, snapshot: &Snapshot) {
    page.begin(&THREADS);
    for (purpose, count) in &snapshot.threads {
        let purpose = format!("{purpose:?}");
        page.sample(&THREADS, &[("purpose", purpose.as_str())], Value::Number(*count as u64));
    }
}

const PRIORITY: Family = family(
    "oxorb_lane_priority",
    MetricType::Gauge,
    "",
    "CORBA priority of the threads of a lane.",
);

const WAITING: Family = family(
    "oxorb_lane_threads_waiting",
    MetricType::Gauge,
    "",
    "Threads of a lane that watch its connections; threads that wait at one connection or at the queue are not \
     counted.",
);

const DYNAMIC: Family = family(
    "oxorb_lane_threads_dynamic",
    MetricType::Gauge,
    "",
    "Running threads of a lane that were started on demand.",
);

const PARKED: Family = family(
    "oxorb_lane_connections_waiting",
    MetricType::Gauge,
    "",
    "Connections of a lane that no thread serves at the moment.",
);

const QUEUE: Family = family(
    "oxorb_lane_queue_requests",
    MetricType::Gauge,
    "",
    "Requests and other work in the queue or the request buffer of a lane.",
);

const QUEUE_LIMIT: Family = family(
    "oxorb_lane_queue_limit_requests",
    MetricType::Gauge,
    "",
    "Maximum number of requests in the queue or the request buffer of a lane.",
);

const BUFFERS: Family = family(
    "oxorb_lane_buffers_free",
    MetricType::Gauge,
    "",
    "Preallocated message buffers of a lane that are not in use.",
);

const WITHOUT_BUFFERS: Family = family(
    "oxorb_lane_connections_without_buffers",
    MetricType::Counter,
    "",
    "Connections that a lane accepted when it had no preallocated message buffers left.",
);

fn lane_states(page: &mut Page, lanes: &[LaneState]) {
    let mut each = |family: &Family, value: &dyn Fn(&LaneState) -> Option<u64>| {
        page.begin(family);
        for lane in lanes {
            if let Some(value) = value(lane) {
                let names = [lane.pool.to_string(), lane.lane.to_string()];
                page.sample(family, &labels(&names), Value::Number(value));
            }
        }
    };
    each(&PRIORITY, &|lane| u64::try_from(lane.priority?).ok());
    each(&WAITING, &|lane| Some(lane.waiting as u64));
    each(&DYNAMIC, &|lane| Some(lane.dynamic as u64));
    each(&PARKED, &|lane| Some(lane.parked as u64));
    each(&QUEUE, &|lane| Some(lane.queue?.0 as u64));
    each(&QUEUE_LIMIT, &|lane| Some(lane.queue?.1 as u64));
    each(&BUFFERS, &|lane| Some(lane.memory?.free as u64));
    each(&WITHOUT_BUFFERS, &|lane| Some(lane.memory?.without));
}

const MODULE_QUEUE: Family = family(
    "oxorb_module_queue_requests",
    MetricType::Gauge,
    "",
    "Requests in the queue of a dispatching module; module 0 is the most urgent one.",
);

const MODULE_REQUESTS: Family = family(
    "oxorb_module_requests",
    MetricType::Counter,
    "",
    "Requests of a dispatching module: dispatched to its queue, refused because the queue was full, or late when they \
     left it.",
);

fn modules(page: &mut Page, snapshot: &Snapshot) {
    page.begin(&MODULE_QUEUE);
    for (at, counts) in snapshot.modules.iter().enumerate() {
        let (module, waiting) = (at.to_string(), Value::Number(counts.waiting as u64));
        page.sample(&MODULE_QUEUE, &[("module", module.as_str())], waiting);
    }
    page.begin(&MODULE_REQUESTS);
    for (at, counts) in snapshot.modules.iter().enumerate() {
        let module = at.to_string();
        for (outcome, count) in [
            ("dispatched", counts.dispatched),
            ("refused", counts.refused),
            ("late", counts.missed),
        ] {
            let labels = [("module", module.as_str()), ("outcome", outcome)];
            page.sample(&MODULE_REQUESTS, &labels, Value::Number(count));
        }
    }
}

const RESPONSE: Family = family(
    "oxorb_operation_response_seconds",
    MetricType::Histogram,
    "seconds",
    "Time to the answer of an operation in the scheduler's table.",
);

const PROCESSOR: Family = family(
    "oxorb_operation_cpu_seconds",
    MetricType::Histogram,
    "seconds",
    "Processor time of an operation in the scheduler's table.",
);

const OVERRUNS: Family = family(
    "oxorb_operation_overruns",
    MetricType::Counter,
    "",
    "Requests of an operation that used more processor time than the scheduler's table declares.",
);

const MISSED: Family = family(
    "oxorb_operation_deadlines_missed",
    MetricType::Counter,
    "",
    "Requests of an operation that ended after the deadline in the scheduler's table, or were dropped because of it.",
);

const NOT_ADMITTED: Family = family(
    "oxorb_operation_refused",
    MetricType::Counter,
    "",
    "Requests of an operation that were refused because they would be late, or their queue was full.",
);

fn operations(page: &mut Page, snapshot: &Snapshot) {
    let all = &snapshot.operations;
    page.begin(&RESPONSE);
    for one in all {
        times(page, &RESPONSE, &one.operation, &one.response);
    }
    page.begin(&PROCESSOR);
    for one in all {
        times(page, &PROCESSOR, &one.operation, &one.cpu);
    }
    let counts = |one: &Measurement| [one.overruns, one.missed, one.refused];
    for (at, family) in [&OVERRUNS, &MISSED, &NOT_ADMITTED].into_iter().enumerate() {
        page.begin(family);
        for one in all {
            let labels = [("operation", one.operation.as_str())];
            page.sample(family, &labels, Value::Number(counts(one)[at]));
        }
    }
}

/// Writes measured times. Their buckets are narrower than those of the page; each counts as its longest time.
fn times(page: &mut Page, family: &Family, operation: &str, times: &Distribution) {
    let mut counts = [0; BUCKETS];
    for (longest, count) in times.counts() {
        counts[bucket(longest)] += count;
    }
    page.histogram(family, &[("operation", operation)], &counts, times.sum_ns);
}

const BUDGET_REQUESTS: Family = family(
    "oxorb_budget_requests",
    MetricType::Counter,
    "",
    "Requests under the budgets of operations, objects or POAs: served within them, refused or demoted.",
);

const BUDGET_OVERRUNS: Family = family(
    "oxorb_budget_overruns",
    MetricType::Counter,
    "",
    "Requests that used more processor time than a budget allows for one request.",
);

const BUDGET_TIME: Family = family(
    "oxorb_budget_cpu_seconds",
    MetricType::Counter,
    "seconds",
    "Processor time under budgets that limit it.",
);

const SPENT: Family = family(
    "oxorb_budgets_spent",
    MetricType::Gauge,
    "",
    "Budgets that are exhausted at the moment.",
);

fn budgets(page: &mut Page, sums: &[(&'static str, BudgetSum)]) {
    page.begin(&BUDGET_REQUESTS);
    for (of, sum) in sums {
        for (outcome, count) in ["served", "refused", "demoted"].into_iter().zip(sum.outcomes) {
            let labels = [("of", *of), ("outcome", outcome)];
            page.sample(&BUDGET_REQUESTS, &labels, Value::Number(count));
        }
    }
    let mut each = |family: &Family, value: &dyn Fn(&BudgetSum) -> Value| {
        page.begin(family);
        for (of, sum) in sums {
            page.sample(family, &[("of", *of)], value(sum));
        }
    };
    each(&BUDGET_OVERRUNS, &|sum| Value::Number(sum.overruns));
    each(&BUDGET_TIME, &|sum| Value::Time(sum.nanoseconds));
    each(&SPENT, &|sum| Value::Number(sum.spent));
}

const fn family(
    name: &'static str,
    kind: MetricType,
    unit: &'static str,
    help: &'static str,
) -> Family {
    Family { name, kind, unit, help }
}

/// Writes a family with a single sample.
fn number(page: &mut Page, family: &Family, number: usize) {
    page.begin(family);
    page.sample(family, &[], Value::Number(number as u64));
}

/// Writes the counts and durations of requests or calls.
fn ends(
    page: &mut Page,
    counts: &Family,
    durations: &Family,
    lanes: &[LaneReading],
    of: impl Fn(&LaneReading) -> &EndReading,
) {
    page.begin(counts);
    for lane in lanes {
        let names = names(lane);
        let [pool, number] = labels(&names);
        for &(outcome, count) in &of(lane).outcomes {
            page.sample(counts, &[pool, number, ("outcome", outcome)], Value::Number(count));
        }
    }
    page.begin(durations);
    for lane in lanes {
        let EndReading { buckets, sum, .. } = of(lane);
        page.histogram(durations, &labels(&names(lane)), buckets, *sum);
    }
}

fn exceptions(page: &mut Page, family: &Family, all: &[ExceptionReading]) {
    page.begin(family);
    for one in all {
        let minor = one.minor.map_or("other".to_owned(), |minor| format!("0x{minor:08x}"));
        let labels = [("exception", one.kind.name()), ("minor", minor.as_str())];
        page.sample(family, &labels, Value::Number(one.count));
    }
}

/// Returns the numbers of threadpool and lane, as values of labels.
fn names(lane: &LaneReading) -> [String; 2] {
    match lane.lane {
        Some(lane) => [lane.pool.to_string(), lane.lane.to_string()],
        None => ["other".to_owned(), "other".to_owned()],
    }
}

fn labels(names: &[String; 2]) -> [(&str, &str); 2] {
    [("threadpool", names[0].as_str()), ("lane", names[1].as_str())]
}
