//! Costs of a ping over each messaging: no count of a light messaging may exceed that of GIOP.

use std::fmt;

use serde::Serialize;

use super::{BOUNDS, Counts, Side, known};
use crate::Result;
use crate::peers::{self, Peer};
use crate::protocols::matrix::{self, Maker, Protocol, Transport};
use crate::table::Table;

/// Messagings over TCP, each of which must take no more instructions than the previous one.
const LIGHT: [Maker; 2] = [Maker::GiopLite, Maker::GiopLiteRt];

/// Relative difference between builds or runs of the same messaging: the addresses of object keys affect the number of
/// instructions that compare them.
const NOISE: f64 = 0.01;

/// Counts of a ping over GIOP and over each light messaging.
#[derive(Debug, Serialize)]
pub(super) struct Messagings {
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    protocol: &'static str,
    client: Side,
    server: Side,
}

/// Counts the light messagings; `giop` was counted before.
pub(super) fn count(giop: &Counts) -> Result<Messagings> {
    let mut rows = vec![Row::of(over_tcp(Maker::Giop), giop)];
    for maker in LIGHT {
        let protocol = over_tcp(maker);
        let contender = peers::prepare(Peer::OxOrb)?.at(protocol.endpoint.to_owned());
        rows.push(Row::of(protocol, &super::count(&contender)?));
    }
    Ok(Messagings { rows })
}

fn over_tcp(maker: Maker) -> &'static Protocol {
    matrix::of(maker, Transport::Tcp).expect("every messaging has a row over TCP")
}

impl Messagings {
    /// Returns a sentence for each exceeded bound.
    pub(super) fn broken(&self) -> Vec<String> {
        let each = self.rows.iter().skip(1).flat_map(Row::above);
        let pairs = self.rows.windows(2).filter_map(|pair| {
            let [heavier, lighter] = pair else {
                return None;
            };
            let (more, less) = (heavier.instructions()?, lighter.instructions()?);
            (less > more * (1.0 + NOISE)).then(|| {
                format!(
                    "{less:.0} instructions of both sides over {}, {more:.0} over {}",
                    lighter.protocol, heavier.protocol
                )
            })
        });
        each.chain(pairs).collect()
    }
}

impl Row {
    fn of(protocol: &'static Protocol, counts: &Counts) -> Row {
        Row {
            protocol: protocol.name,
            client: counts.client.clone(),
            server: counts.server.clone(),
        }
    }

    /// Returns the instructions of both sides if they can be counted.
    fn instructions(&self) -> Option<f64> {
        Some(self.client.instructions? + self.server.instructions?)
    }

    /// Returns a sentence for each exceeded bound of a ping.
    fn above(&self) -> Vec<String> {
        let sides = [
            ("client", &self.client, BOUNDS.client_instructions),
            ("server", &self.server, BOUNDS.server_instructions),
        ];
        let broken = sides.into_iter().flat_map(|(name, side, instructions)| {
            side.above(&format!("{name} over {}", self.protocol), &BOUNDS, instructions)
        });
        broken.collect()
    }
}

impl fmt::Display for Messagings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = |side: &Side| {
            let instructions = known(side.instructions, 0);
            [instructions, known(side.allocations, 3), known(side.system_calls_in_all(), 3)]
        };
        let table = Table::of(&self.rows)
            .left([""], |row| [row.protocol])
            .right(["client: instructions", "allocations", "system calls"], |it| counts(&it.client))
            .right(["server: instructions", "allocations", "system calls"], |it| {
                counts(&it.server)
            });
        write!(f, "per ping, by messaging:\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(instructions: [f64; 3]) -> Vec<String> {
        let makers = [Maker::Giop].into_iter().chain(LIGHT);
        let row = |(maker, instructions)| Row {
            protocol: over_tcp(maker).name,
            client: Side {
                allocations: Some(0.0),
                system_calls: None,
                instructions: Some(instructions),
                virtual_calls: None,
            },
            server: Side { instructions: Some(1000.0), ..Side::default() },
        };
        let rows = makers.zip(instructions).map(row).collect();
        Messagings { rows }.broken()
    }

    #[test]
    fn no_messaging_takes_more_than_the_one_before() {
        assert_eq!(broken([1400.0, 1300.0, 1200.0]), [""; 0]);
        assert_eq!(broken([1400.0, 1408.0, 1200.0]), [""; 0]);
        assert_eq!(
            broken([1400.0, 1430.0, 1200.0]),
            ["2430 instructions of both sides over giop-lite-tcp, 2400 over giop-tcp"]
        );
        assert_eq!(
            broken([1400.0, 1200.0, 1250.0]),
            ["2250 instructions of both sides over giop-lite-rt-tcp, 2200 over giop-lite-tcp"]
        );
    }

    #[test]
    fn the_light_messagings_keep_the_bounds_of_a_ping() {
        let above = broken([4000.0, 3000.0, 1000.0]);
        assert_eq!(above, ["3000.000 instructions on the client over giop-lite-tcp, 1500 allowed"]);
    }
}
