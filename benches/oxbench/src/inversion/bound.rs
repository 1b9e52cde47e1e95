//! Bounds on urgent calls through lanes, proved by the admission analysis and compared with the calls of the run.
//!
//! The processors of clients and server are treated as one, which is safe but not tight: two processors serve a call at
//! least as fast as one. The assumed worst case of a call is [`MARGIN`] times the 99 % quantile of the urgent calls
//! with the fewest other clients; the bounds apply to all numbers of clients.

use oxorb_sched::admission::{Answer, Controller, LateComers, MemberRequest};
use serde::Serialize;

use super::report::{Point, Report, Version};
use crate::Result;
use crate::load::Architecture;

/// Ratio of the assumed worst case to the time within which nearly all calls return.
const MARGIN: u64 = 2;

/// Bound of the urgent calls of one point, and its verification.
#[derive(Debug, Serialize)]
pub(super) struct Bound {
    pub(super) version: Version,
    pub(super) lows: usize,
    /// Longest response, in nanoseconds.
    pub(super) bound_ns: u64,
    pub(super) max_ns: u64,
    pub(super) calls: usize,
    /// Number of calls beyond the bound.
    pub(super) beyond: usize,
}

impl Bound {
    /// Returns the bound as a multiple of the longest call.
    pub(super) fn slack(&self) -> f64 {
        self.bound_ns as f64 / self.max_ns.max(1) as f64
    }
}

/// Returns the bounds of all points with lanes, except those whose urgent calls do not fit into their period.
pub(super) fn bounds(report: &Report) -> Result<Vec<Bound>> {
    let mut bounds = Vec::new();
    for version in [Version::Paper, Version::Saturated] {
        let line: Vec<&Point> = report.line(version, Architecture::Lanes).collect();
        let Some(fewest) = line.first() else { continue };
        let worst_case = fewest.high.p99 * MARGIN;
        // Equal for any number of clients with a lower priority: lanes promise preemption.
        let Some(bound_ns) = longest_response(worst_case, report.high_hz)? else {
            continue;
        };
        bounds.extend(line.into_iter().map(|point| Bound {
            version,
            lows: point.lows,
            bound_ns,
            max_ns: point.high.max,
            calls: point.high.calls,
            beyond: point.calls.iter().filter(|time| **time > bound_ns).count(),
        }));
    }
    Ok(bounds)
}

fn longest_response(worst_case: u64, hz: f64) -> Result<Option<u64>> {
    let period = (1e9 / hz) as u64;
    let wanted = MemberRequest {
        name: "high".to_owned(),
        worst_case,
        period,
        deadline: period,
        priority: 0,
        shares: false,
    };
    let answer = Controller::new(LateComers::Refuse).admit(wanted)?;
    Ok(match answer {
        Answer::Guaranteed { response } => Some(response),
        Answer::BestEffort { .. } | Answer::Refused(_) => None,
    })
}
