//! Project's bounds on protocols.

use super::cube::Operation;
use super::matrix::{self, Maker, Transport, Way};
use super::report::{CubeReport, Report};
use crate::bootstrap::Ratio;
use crate::verdict::{Verdict, Verdicts, at_most, below};

/// Greatest permitted ratio of the time of a ping over UNIX sockets to that of the raw exchange.
const UNIX: f64 = 1.15;

/// Greatest permitted ratio of the time of GIOPlite/RT to that of raw TCP.
const LITE_RT: f64 = 1.08;

/// Maximum time in microseconds of a ping over shared memory, with spinning threads on a CPU for each side.
const SPINNING: f64 = 1.0;

/// Greatest permitted ratio of the time of a call with 64 KiB in place to that of a ping.
const PLACED: f64 = 1.2;

/// Maximum time in microseconds for 1 MiB one way in place.
const MEBIBYTE: f64 = 20.0;

/// Greatest permitted ratio of the time of 1 MiB one way, copied, to that of one memcpy.
const COPIED: f64 = 1.1;

/// Returns one line for each bound.
pub(super) fn verdicts(report: &Report) -> Verdicts {
    let void = |cube: &&CubeReport| cube.cube.operation == Operation::Void;
    let voids = || report.cubes.iter().filter(void);
    let pings = voids().flat_map(pings).chain(voids().flat_map(shared));
    let order = report.cubes.iter().flat_map(order);
    let floor = report.cubes.iter().map(|cube| {
        let row = cube.row(Maker::GiopLiteRt, Transport::Tcp);
        let ratio = row.and_then(|row| row.to_raw);
        at_most(format!("{}: GIOPlite/RT by raw, TCP", cube.name), ratio, LITE_RT)
    });
    let sizes = one_way(report);
    Verdicts::new(pings.chain(sizes).chain(order).chain(floor))
}

/// Returns verdicts on sequences sent one way over shared memory with spinning threads, by medians over all rounds.
fn one_way(report: &Report) -> Vec<Verdict> {
    const SIZED: u32 = 64 << 10;
    const LARGE: u32 = 1 << 20;
    let cube = |operation, size| {
        let mut cubes = report.cubes.iter().map(|it| (it.cube, it));
        let found = cubes.find(|(cube, _)| (cube.operation, cube.size) == (operation, size));
        found.map(|(_, report)| report)
    };
    let p50 = |operation, size, maker, transport, way| {
        let row = cube(operation, size)?.row_of(matrix::by(maker, transport, way)?)?;
        Some(row.p50 as f64)
    };
    let spinning = |size, way| p50(Operation::Sent, size, Maker::Giop, Transport::Spinning, way);
    let rings = p50(Operation::Sent, LARGE, Maker::Giop, Transport::Rings, Way::Usual);
    let ping = p50(Operation::Void, 0, Maker::Giop, Transport::Spinning, Way::Usual);
    let memcpy = p50(Operation::Sent, LARGE, Maker::Memcpy, Transport::Memory, Way::Usual);
    let by = |this: Option<f64>, other: Option<f64>| Some(Ratio::exactly(this? / other?));
    // The bounds do not apply to a run without such calls.
    if report.cubes.iter().all(|it| it.cube.operation != Operation::Sent) {
        return Vec::new();
    }
    let raw = |operation, size, way| p50(operation, size, Maker::Raw, Transport::Spinning, way);
    let floor = by(raw(Operation::Sent, SIZED, Way::Placed), raw(Operation::Void, 0, Way::Usual));
    let placed = by(spinning(SIZED, Way::Placed), ping);
    let beside =
        placed.as_ref().zip(floor).map(|(placed, floor)| Ratio::exactly(placed.seen / floor.seen));
    let together = raw(Operation::Sent, LARGE, Way::Pieces);
    vec![
        at_most("64 KiB one way in place, spinning, by a ping", placed, PLACED),
        at_most(
            "the same, of which nobody touches an octet",
            by(spinning(SIZED, Way::Untouched), ping),
            PLACED,
        ),
        at_most(
            "the same, touched, by the ratio of a raw exchange that touches the same octets",
            beside,
            PLACED,
        ),
        below(
            "1 MiB one way in place, spinning, microseconds",
            by(spinning(LARGE, Way::Placed), Some(1000.0)),
            MEBIBYTE,
        ),
        at_most(
            "1 MiB one way, copied once, spinning, by one memcpy",
            by(spinning(LARGE, Way::Once), memcpy),
            COPIED,
        ),
        at_most(
            "1 MiB one way, copied on both sides, spinning, by one memcpy",
            by(spinning(LARGE, Way::Usual), memcpy),
            COPIED,
        ),
        at_most(
            "1 MiB one way, copied on both sides through rings, spinning, by one memcpy",
            by(rings, memcpy),
            COPIED,
        ),
        at_most(
            "1 MiB one way, copied on both sides, spinning, by a raw exchange in pieces",
            by(spinning(LARGE, Way::Usual), together),
            COPIED,
        ),
    ]
}

fn pings(cube: &CubeReport) -> [Verdict; 2] {
    let row = cube.row(Maker::Giop, Transport::Unix);
    let name = &cube.name;
    [
        at_most(format!("{name}: GIOP by raw, UNIX sockets"), row.and_then(|row| row.to_raw), UNIX),
        below(
            format!("{name}: GIOP by omniORB, UNIX sockets"),
            row.and_then(|row| row.to_omniorb),
            1.0,
        ),
    ]
}

/// Returns verdicts on a ping over shared memory, by medians over all rounds.
fn shared(cube: &CubeReport) -> [Verdict; 3] {
    let p50 = |maker, transport| Some(cube.row(maker, transport)?.p50 as f64);
    let spinning = p50(Maker::Giop, Transport::Spinning);
    let by = |this: Option<f64>, other: Option<f64>| Some(Ratio::exactly(this? / other?));
    let name = &cube.name;
    [
        below(
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
            by(p50(Maker::Giop, Transport::Shared), p50(Maker::Giop, Transport::Unix)),
            1.0,
        ),
    ]
}

/// Returns verdicts on the order of messagings: over each transport, each messaging must be faster than the one before
/// it.
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
    use super::super::cube::Cube;
    use super::super::matrix::{self, MATRIX, Protocol};
    use super::super::report::{self, LeftOut};
    use super::*;
    use crate::machine::Machine;
    use crate::record::Record;

    const VOID: Cube = Cube { operation: Operation::Void, size: 0 };

    /// Returns a run of `void` in which each protocol takes `time` nanoseconds in each round.
    fn report(time: impl Fn(&Protocol) -> u64, protocols: &[&'static Protocol]) -> Report {
        report_of(&[VOID], |_, protocol| time(protocol), protocols)
    }

    fn report_of(
        cubes: &[Cube],
        time: impl Fn(Cube, &Protocol) -> u64,
        protocols: &[&'static Protocol],
    ) -> Report {
        let record = |cube: Cube, protocol: &Protocol| {
            let mut record = Record::empty();
            if protocol.makes(cube) {
                (0..3).for_each(|_| record.add(vec![time(cube, protocol); 5]));
            }
            record
        };
        let records: Vec<Vec<_>> = protocols
            .iter()
            .map(|protocol| cubes.iter().map(|cube| record(*cube, protocol)).collect())
            .collect();
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            rounds: 3,
            left_out: vec![LeftOut { protocol: "giop-mem", reason: "not there".into() }],
            cubes: report::cubes(cubes, protocols, &records),
        }
    }

    fn time(protocol: &Protocol) -> u64 {
        let over_tcp = match protocol.maker {
            Maker::Raw => 1000,
            Maker::OmniOrb => 1300,
            Maker::Iceoryx | Maker::Zenoh | Maker::Memcpy => 1200,
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
        // Of the 16 verdicts, five are on pings, two on each of five transports, and one on the floor.
        assert_eq!(verdicts.matches("met ").count(), 16, "{verdicts}");
        let slow = |protocol: &Protocol| 4000 - time(protocol);
        let verdicts = super::verdicts(&report(slow, &all)).to_string();
        assert_eq!(verdicts.matches("NOT MET").count(), 14, "{verdicts}");
        let tcp = matrix::named("giop-tcp").unwrap();
        let verdicts = super::verdicts(&report(time, &[tcp])).to_string();
        assert_eq!(verdicts.matches("unknown").count(), 16, "{verdicts}");
    }

    #[test]
    fn octets_one_way_have_bounds_of_their_own() {
        let sent = |size| Cube { operation: Operation::Sent, size };
        let cubes = [VOID, sent(64 << 10), sent(1 << 20)];
        let time = |cube: Cube, protocol: &Protocol| match (cube.size, protocol.maker) {
            (0, _) => 800,
            (_, Maker::Memcpy) => 80_000,
            (0x1_0000, _) => 950,
            _ => match (protocol.way, protocol.transport) {
                (Way::Placed, _) => 19_000,
                (Way::Once | Way::Pieces | Way::Untouched, _) | (_, Transport::Rings) => 87_000,
                (Way::Usual, _) => 160_000,
            },
        };
        let all: Vec<_> = MATRIX.iter().collect();
        let verdicts = super::one_way(&report_of(&cubes, time, &all));
        let text = Verdicts::new(verdicts).to_string();
        assert_eq!(text.matches("met      ").count(), 6, "{text}");
        let missed = "NOT MET  1 MiB one way, copied on both sides, spinning, by one memcpy: 2.00";
        assert!(text.contains(missed), "{text}");
        let without: Vec<_> = MATRIX.iter().filter(|it| it.way == Way::Usual).collect();
        let verdicts = super::one_way(&report_of(&cubes, time, &without));
        let text = Verdicts::new(verdicts).to_string();
        assert_eq!(text.matches("unknown  ").count(), 6, "{text}");
    }

    #[test]
    fn what_is_left_out_is_said_above_everything() {
        let tcp = ["raw-tcp", "giop-tcp"].map(|name| matrix::named(name).unwrap());
        let text = report(time, &tcp).to_string();
        assert!(text.contains("LEFT OUT: giop-mem: not there"), "{text}");
        assert!(text.contains("1.10 (1.10 to 1.10)"), "{text}");
    }
}
