//! Project's bounds on TLS.

use super::calls::{Contender, LARGE, PING};
use super::handshakes::Server;
use super::report::Report;
use crate::verdict::{Verdicts, at_least, at_most};

/// Greatest permitted ratio of the time of a ping over TLS to that of a ping over TCP.
const MOST_OF_PING: f64 = 1.6;

/// Greatest permitted ratio of the time of a call with 1 MiB in each direction to that of the bare exchange over TLS.
const MOST_OF_LARGE: f64 = 1.3;

/// Least permitted ratio of the handshakes per second to those of a bare server.
const LEAST_OF_HANDSHAKES: f64 = 0.9;

/// Returns one line for each bound.
pub(super) fn verdicts(report: &Report) -> Verdicts {
    let ping = report.row(PING, Contender::Iiops).and_then(|row| row.to_iiop);
    let large = report.row(LARGE, Contender::Iiops).and_then(|row| row.to_rustls);
    let calls = [
        at_most(format!("{PING}: iiops by iiop"), ping, MOST_OF_PING),
        at_most(format!("{LARGE}: iiops by bare rustls"), large, MOST_OF_LARGE),
    ];
    let of_orb = report.handshakes.iter().filter(|row| row.server == Server::OxOrb);
    let handshakes = of_orb.map(|row| {
        let (kind, connections) = (row.kind, row.connections);
        let bound = format!("{kind} handshakes a second, {connections} at a time: by bare rustls");
        at_least(bound, row.to_rustls, LEAST_OF_HANDSHAKES)
    });
    Verdicts::new(calls.into_iter().chain(handshakes))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::calls::CONTENDERS;
    use super::super::handshakes::{Kind, Measured, SERVERS, Taken};
    use super::super::report;
    use super::*;
    use crate::experiment::EXPERIMENTS;
    use crate::machine::Machine;
    use crate::record::Record;

    /// Returns a run in which each contender takes `time` nanoseconds for each call, and each server `pace` nanoseconds
    /// for each handshake.
    fn run(time: impl Fn(Contender) -> u64, pace: impl Fn(Server) -> u64) -> Report {
        let record = |time: u64| {
            let mut record = Record::empty();
            (0..3).for_each(|_| record.add(vec![time; 5]));
            record
        };
        let wanted = EXPERIMENTS.iter().filter(|it| [PING, LARGE].contains(&it.name));
        let calls = wanted.map(|it| report::call(it, &CONTENDERS.map(|of| record(time(of)))));
        let kinds = [(Kind::Full, 1), (Kind::Full, 8), (Kind::Resumed, 1), (Kind::Resumed, 8)];
        let handshakes = kinds.map(|(kind, connections)| {
            let servers = SERVERS.map(|server| Taken {
                times: record(2 * pace(server)),
                paces: vec![pace(server); 3],
                cpu: Some(Duration::from_nanos(15 * pace(server))),
            });
            report::handshakes(&Measured { kind, connections, servers })
        });
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            handshake_placement: "there".into(),
            rounds: 3,
            suite: "TLS13_AES_256_GCM_SHA384".into(),
            calls: calls.collect(),
            handshakes: handshakes.into_iter().flatten().collect(),
        }
    }

    fn time(contender: Contender) -> u64 {
        match contender {
            Contender::Tcp => 20_000,
            Contender::Iiop => 22_000,
            Contender::Rustls => 26_000,
            Contender::Iiops => 33_000,
        }
    }

    fn pace(server: Server) -> u64 {
        match server {
            Server::Rustls => 500_000,
            Server::OxOrb => 550_000,
        }
    }

    #[test]
    fn each_bound_is_met_or_not_or_unknown() {
        let verdicts = super::verdicts(&run(time, pace)).to_string();
        assert_eq!(verdicts.matches("met      ").count(), 6, "{verdicts}");
        let slow = |contender| match contender {
            Contender::Iiops => 42_000,
            other => time(other),
        };
        let late = |server| match server {
            Server::OxOrb => 559_000,
            other => pace(other),
        };
        let verdicts = super::verdicts(&run(slow, late)).to_string();
        assert_eq!(verdicts.matches("NOT MET").count(), 6, "{verdicts}");
        let nothing = Report { calls: Vec::new(), ..run(time, pace) };
        let verdicts = super::verdicts(&nothing).to_string();
        assert_eq!(verdicts.matches("unknown").count(), 2, "{verdicts}");
    }

    #[test]
    fn rows_show_ratios_and_rates() {
        let text = run(time, pace).to_string();
        assert!(text.contains("1.50 (1.50 to 1.50)"), "iiops by iiop: {text}");
        assert!(text.contains("1.27 (1.27 to 1.27)"), "iiops by bare rustls: {text}");
        assert!(text.contains("0.91 (0.91 to 0.91)"), "handshakes by bare rustls: {text}");
        assert!(text.contains("1818"), "handshakes a second: {text}");
        assert!(text.contains("there; TLS13_AES_256_GCM_SHA384"), "{text}");
    }
}
