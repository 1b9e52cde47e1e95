//! Project's bounds on a gateway.

use super::calls::{CALLS, Contender};
use super::report::Report;
use crate::bootstrap::Ratio;
use crate::verdict::{Verdict, Verdicts, at_least, at_most};

/// Greatest permitted ratio of the time that a gateway adds to that of a plain call.
const MOST_OF_HOP: f64 = 1.3;

/// Greatest permitted number of allocations for each forwarded message, in the median round. An allocation for each
/// message would make this number at least 1. Of many small messages, some allocations of other threads are tolerated.
const MOST_ALLOCATIONS: f64 = 0.001;

/// Returns one line for each bound.
pub(super) fn verdicts(report: &Report) -> Verdicts {
    let gateways = [Contender::Gateway, Contender::Search];
    let each = CALLS.iter().flat_map(|call| gateways.map(|contender| (*call, contender)));
    let calls = each.flat_map(|(call, contender)| {
        let row = report.row(call, contender);
        let hop = row.and_then(|row| row.hop_to_direct);
        let allocations = row.and_then(|row| row.allocations).map(Ratio::exactly);
        [
            at_most(format!("{call}: hop of {contender} by a direct call"), hop, MOST_OF_HOP),
            at_most(format!("{call}: allocations of {contender}"), allocations, MOST_ALLOCATIONS),
        ]
    });
    let connections = &report.connections;
    let served = f64::from(connections.served) / f64::from(connections.connections);
    let bound = format!("{} connections: share that was served", connections.connections);
    let connections: [Verdict; 1] = [at_least(bound, Some(Ratio::exactly(served)), 1.0)];
    Verdicts::new(calls.chain(connections))
}

#[cfg(test)]
mod tests {
    use super::super::calls::{CONTENDERS, Taken};
    use super::super::connections::{ConnectionsReport, ConnectionsRow};
    use super::super::report;
    use super::*;
    use crate::experiment::EXPERIMENTS;
    use crate::machine::Machine;

    /// Returns a run in which each contender takes `time` nanoseconds for each call, and a gateway allocates this many
    /// times in a round.
    fn run(time: impl Fn(Contender) -> u64, allocations: u64) -> Report {
        let taken = |contender: Contender| {
            let mut taken = Taken::nothing();
            (0..3).for_each(|_| taken.calls.add(vec![time(contender); 5]));
            taken.allocations = vec![allocations; 3];
            taken
        };
        let wanted = EXPERIMENTS.iter().filter(|it| CALLS.contains(&it.name));
        let calls = wanted.map(|it| report::call(it, &CONTENDERS.map(taken)));
        let row = |open| ConnectionsRow { open, p50: 1, p99: 2, p999: 3, max: 4 };
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            rounds: 3,
            calls: calls.collect(),
            connections: ConnectionsReport {
                connections: 5000,
                served: 5000,
                opened_each_second: 7000.0,
                memory: 1000,
                threads: 260,
                rows: [row(1), row(5000)],
            },
        }
    }

    fn time(contender: Contender) -> u64 {
        match contender {
            Contender::Direct => 20_000,
            Contender::Relay => 41_000,
            Contender::Gateway => 44_000,
            Contender::Search => 45_000,
        }
    }

    #[test]
    fn each_bound_is_met_or_not_or_unknown() {
        let verdicts = super::verdicts(&run(time, 0)).to_string();
        assert_eq!(verdicts.matches("met      ").count(), 13, "{verdicts}");
        let slow = |contender| match contender {
            Contender::Direct => 20_000,
            _ => 47_000,
        };
        let verdicts = super::verdicts(&run(slow, 1)).to_string();
        assert_eq!(verdicts.matches("NOT MET").count(), 12, "{verdicts}");
        let nothing = Report { calls: Vec::new(), ..run(time, 0) };
        let verdicts = super::verdicts(&nothing).to_string();
        assert_eq!(verdicts.matches("unknown").count(), 12, "{verdicts}");
    }

    #[test]
    fn rows_show_hops_and_connections() {
        let text = run(time, 0).to_string();
        assert!(text.contains("1.05 (1.05 to 1.05)"), "relay: {text}");
        assert!(text.contains("1.20 (1.20 to 1.20)"), "gateway: {text}");
        assert!(text.contains("5000 connections: 5000 served, 7000 opened a second"), "{text}");
    }
}
