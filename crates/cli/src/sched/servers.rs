//! Verdicts on the requests that wait in servers.

use std::fmt::Write as _;

use oxorb_sched::analysis::servers::Kind;
use oxorb_sched::analysis::{self, DeadlineOutcome, Report, Verdict};
use oxorb_sched::time::{Nanos, Show};
use oxorb_sched::{Schedule, Task};
use serde_json::{Value, json};

use super::analyse::mark;
use super::extra::ServerSaid;
use super::load::Loaded;

/// Server and its analysed requests.
pub(super) struct Served<'l> {
    said: &'l ServerSaid,
    requests: Vec<Task>,
    /// Longest time from arrival to completion; `None` if unbounded.
    longest: Option<Nanos>,
}

/// Analyses the servers of a schedule.
pub(super) fn found<'l>(loaded: &'l Loaded, schedule: &Schedule) -> Vec<Served<'l>> {
    let one = |said: &'l ServerSaid| {
        let requests = loaded.extra.requests_of(&said.name.0);
        let response = own_response(schedule, said);
        Served {
            said,
            longest: response.and_then(|response| said.server.longest(response, &requests)),
            requests,
        }
    };
    loaded.extra.servers.iter().map(one).collect()
}

/// Analyses a schedule with its servers.
pub(super) fn analyse(loaded: &Loaded, schedule: &Schedule) -> Report {
    let mut report = analysis::analyse(&schedule.tasks);
    for said in &loaded.extra.servers {
        if let Some(verdict) = own_verdict(schedule, said) {
            let place = verdict.task;
            report.verdicts[place] = verdict;
        }
    }
    report
}

/// Returns the verdict on a server itself. Capacity that it kept from the previous period delays other tasks, but not
/// the server.
fn own_verdict(schedule: &Schedule, said: &ServerSaid) -> Option<Verdict> {
    let tasks = &schedule.tasks.tasks;
    let place = tasks.iter().position(|task| task.name == said.name.0)?;
    let mut set = schedule.tasks.clone();
    set.tasks[place].delay = 0;
    Some(analysis::analyse_one(&set, place))
}

/// Returns the response time of a server itself, if its capacity is proved in each period.
fn own_response(schedule: &Schedule, said: &ServerSaid) -> Option<Nanos> {
    let verdict = own_verdict(schedule, said)?;
    match (verdict.outcome, said.server.kind) {
        (DeadlineOutcome::Meets, Kind::ConstantBandwidth) => Some(said.server.period),
        // Without a response time, the demand test was used, which proves only that the capacity is available within
        // the period.
        (DeadlineOutcome::Meets, _) => Some(verdict.response.unwrap_or(said.server.period)),
        _ => None,
    }
}

impl Served<'_> {
    fn meets(&self, request: &Task) -> bool {
        self.longest.is_some_and(|longest| longest <= request.deadline)
    }

    /// Reports whether the deadlines of all requests are proved.
    pub(super) fn is_proved(&self) -> bool {
        self.requests.iter().all(|request| self.meets(request))
    }

    pub(super) fn as_text(&self) -> String {
        let server = &self.said.server;
        let within = match self.longest {
            Some(longest) => format!("each request ends within {}", Show(longest)),
            None => "no bound: its capacity is not proved, or its requests need more".into(),
        };
        let mut out = format!(
            "server {}: {}, {} each {}: {within}\n",
            self.said.name.0,
            server.kind,
            Show(server.capacity),
            Show(server.period)
        );
        for request in &self.requests {
            let outcome = if self.meets(request) {
                DeadlineOutcome::Meets
            } else {
                DeadlineOutcome::Unproven
            };
            let (style, mark) = mark(outcome);
            let may = if self.meets(request) { "meets" } else { "may miss" };
            let _ = writeln!(
                out,
                "{style}{mark}{style:#}   {}: {may} its deadline of {}",
                request.name,
                Show(request.deadline)
            );
        }
        out
    }

    pub(super) fn as_json(&self) -> Value {
        let server = &self.said.server;
        let requests = self.requests.iter().map(|request| {
            json!({
                "operation": request.name,
                "deadline_ns": request.deadline,
                "meets": self.meets(request),
            })
        });
        json!({
            "name": self.said.name.0,
            "kind": server.kind.name(),
            "capacity_ns": server.capacity,
            "period_ns": server.period,
            "response_ns": self.longest,
            "requests": requests.collect::<Vec<_>>(),
        })
    }
}
