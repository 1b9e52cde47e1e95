//! Bounds that the project set itself for protocols.

use super::cube::Operation;
use super::matrix::{self, Maker, Transport};
use super::report::{CubeReport, Report};
use crate::bootstrap::Ratio;
use crate::verdict::{Verdict, Verdicts, at_most, below};

/// UNIX ping by that over a raw UNIX socket.
const UNIX: f64 = 1.15;

/// GIOPlite/RT by raw TCP.
const LITE_RT: f64 = 1.08;

/// Microseconds of a ping over shared memory, a CPU for each side, spinning.
const SPINNING: f64 = 1.0;

/// One line for each bound.
pub(super) fn verdicts(report: &Report) -> Verdicts {
    let void = |cube: &&CubeReport| cube.cube.operation == Operation::Void;
    let voids = || report.cubes.iter().filter(void);
    let pings = voids().flat_map(pings).chain(voids().flat_map(shared));
    let order = report.cubes.iter().flat_map(order);
    let floor = report.cubes.iter().map(|cube| {
        let row = cube.row(Maker::GiopLiteRt, Transport::Tcp);
        let ratio = row.and_then(|row| row.to_raw);
        at_most(
            format!("{}: GIOPlite/RT by raw, TCP", cube.name),
            ratio,
            LITE_RT,
        )
    });
    Verdicts::new(pings.chain(order).chain(floor))
}

fn pings(cube: &CubeReport) -> [Verdict; 2] {
    let row = cube.row(Maker::Giop, Transport::Unix);
    let name = &cube.name;
    [
        at_most(
            format!("{name}: GIOP by raw, UNIX sockets"),
            row.and_then(|row| row.to_raw),
            UNIX,
        ),
        below(
            format!("{name}: GIOP by omniORB, UNIX sockets"),
            row.and_then(|row| row.to_omniorb),
            1.0,
        ),
    ]
}

/// A ping over shared memory. Of medians over all rounds.
fn shared(cube: &CubeReport) -> [Verdict; 3] {
    let p50 = |maker, transport| Some(cube.row(maker, transport)?.p50 as f64);
    let spinning = p50(Maker::Giop, Transport::Spinning);
    let by = |this: Option<f64>, other: Option<f64>| Some(Ratio::exactly(this? / other?));
    let name = &cube.name;
    [
        at_most(
            format!("{name}: GIOP over shared memory, spinning, microseconds"),
            by(spinning, Some(1000.0)),
            SPINNING,
        ),
        below(
            format!("{name}: GIOP by iceoryx2, spinning"),
            by(spinning, p50(Maker::Iceoryx, Transport::Spinning)),
            1.0,
        ),
        below(
            format!("{name}: GIOP over shared memory by UNIX sockets"),
            by(
                p50(Maker::Giop, Transport::Shared),
                p50(Maker::Giop, Transport::Unix),
            ),
            1.0,
        ),
    ]
}

/// Each messaging is faster than the one before it, over each transport.
fn order(cube: &CubeReport) -> Vec<Verdict> {
    let transports = matrix::TRANSPORTS;
    let of = |transport| {
        let lite = cube.row(Maker::GiopLite, transport);
        let rt = cube.row(Maker::GiopLiteRt, transport);
        let name = &cube.name;
        [
            below(
                format!("{name}: GIOPlite by GIOP, {transport}"),
                lite.and_then(|row| row.to_giop),
                1.0,
            ),
            below(
                format!("{name}: GIOPlite/RT by GIOPlite, {transport}"),
                rt.and_then(|row| row.to_giop_lite),
                1.0,
            ),
        ]
    };
    transports.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Record;
    use super::super::cube::Cube;
    use super::super::matrix::{self, MATRIX, Protocol};
    use super::super::report::{self, LeftOut};
    use super::*;
    use crate::machine::Machine;

    /// A run in which each protocol takes so many nanoseconds in each round.
    fn report(time: impl Fn(&Protocol) -> u64, protocols: &[&'static Protocol]) -> Report {
        let void = Cube {
            operation: Operation::Void,
            size: 0,
        };
        let record = |protocol: &&'static Protocol| {
            let mut record = Record::empty();
            (0..3).for_each(|_| record.add(vec![time(protocol); 5]));
            vec![record]
        };
        let records: Vec<_> = protocols.iter().map(record).collect();
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            rounds: 3,
            left_out: vec![LeftOut {
                protocol: "giop-mem",
                reason: "not there".into(),
            }],
            cubes: report::cubes(&[void], protocols, &records),
        }
    }

    fn time(protocol: &Protocol) -> u64 {
        let over_tcp = match protocol.maker {
            Maker::Raw => 1000,
            Maker::OmniOrb => 1300,
            Maker::Iceoryx => 1200,
            Maker::Giop => 1100,
            Maker::GiopLite => 1090,
            Maker::GiopLiteRt => 1080,
        };
        match protocol.transport {
            Transport::Shared => over_tcp - 5,
            Transport::Spinning => over_tcp - 300,
            _ => over_tcp,
        }
    }

    #[test]
    fn each_bound_is_met_or_not_or_unknown() {
        let all: Vec<_> = MATRIX.iter().collect();
        let good = report(time, &all);
        let verdicts = super::verdicts(&good).to_string();
        // Five of pings, two for each of five transports, one floor.
        assert_eq!(verdicts.matches("met ").count(), 16, "{verdicts}");
        let slow = |protocol: &Protocol| 4000 - time(protocol);
        let verdicts = super::verdicts(&report(slow, &all)).to_string();
        assert_eq!(verdicts.matches("NOT MET").count(), 14, "{verdicts}");
        let tcp = matrix::named("giop-tcp").unwrap();
        let verdicts = super::verdicts(&report(time, &[tcp])).to_string();
        assert_eq!(verdicts.matches("unknown").count(), 16, "{verdicts}");
    }

    #[test]
    fn what_is_left_out_is_said_above_everything() {
        let tcp = ["raw-tcp", "giop-tcp"].map(|name| matrix::named(name).unwrap());
        let text = report(time, &tcp).to_string();
        assert!(text.contains("LEFT OUT: giop-mem: not there"), "{text}");
        assert!(text.contains("1.10 (1.10 to 1.10)"), "{text}");
    }
}
