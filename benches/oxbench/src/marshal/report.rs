//! Results of a run, as text and as JSON.

use std::fmt;

use oxorb::values::ByteOrder;
use serde::Serialize;

use super::Codec;
use super::code::Code;
use crate::Result;
use crate::bootstrap::Ratio;
use crate::machine::Machine;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

/// Results of one run. Times are in nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) placement: String,
    pub(crate) rounds: u32,
    /// Milliseconds for each row, byte order and direction in each round.
    pub(crate) milliseconds: u32,
    pub(crate) lines: Vec<Line>,
    /// Code sizes; empty if not requested.
    pub(crate) code: Vec<Code>,
}

/// Results of one row in one byte order.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) row: &'static str,
    pub(crate) what: &'static str,
    pub(crate) order: &'static str,
    /// Whether it is the machine's byte order.
    pub(crate) native: bool,
    /// Size in octets of the encoded value.
    pub(crate) octets: usize,
    #[serde(skip)]
    seen: Option<(Codec, String)>,
    pub(crate) cells: Vec<Cell>,
}

/// Results of one codec in one line.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) codec: Codec,
    pub(crate) encode: Times,
    pub(crate) decode: Times,
}

/// Medians of all rounds.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Times {
    /// Best round: the cost of the codec with the least disturbance by the machine.
    pub(crate) best: f64,
    /// Median round.
    pub(crate) median: f64,
    rounds: Vec<f64>,
}

impl Times {
    fn add(&mut self, time: f64) {
        self.rounds.push(time);
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        self.best = sorted[0];
        self.median = sorted[sorted.len() / 2];
    }
}

impl Line {
    pub(crate) fn new(row: &'static str, what: &'static str, order: ByteOrder) -> Line {
        Line {
            row,
            what,
            order: match order {
                ByteOrder::Big => "big",
                ByteOrder::Little => "little",
            },
            native: order == ByteOrder::NATIVE,
            octets: 0,
            seen: None,
            cells: Vec::new(),
        }
    }

    /// Compares the octets written by the codecs, which must be equal for the work to be equal. For omniORB only their
    /// number can be compared, because its padding is uninitialized memory.
    pub(crate) fn compare(&mut self, codec: Codec, octets: &str) -> Result {
        let Line { row, order, .. } = self;
        let octets = match codec {
            Codec::OmniOrb => octets.split(' ').next().unwrap_or_default(),
            Codec::Compiled | Codec::Interpreted => octets,
        };
        match &self.seen {
            None => {
                let length = octets.split(' ').next().unwrap_or_default();
                self.octets = length.parse()?;
                self.seen = Some((codec, octets.to_owned()));
            }
            Some((other, first)) if !first.starts_with(octets) => {
                return Err(format!(
                    "{row} ({order}-endian): {other} writes other octets ({first}) than {codec} ({octets})"
                )
                .into());
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Adds one round.
    pub(crate) fn add(&mut self, codec: Codec, encode: f64, decode: f64) {
        let found = self.cells.iter().position(|cell| cell.codec == codec);
        let at = found.unwrap_or_else(|| {
            self.cells.push(Cell { codec, encode: Times::default(), decode: Times::default() });
            self.cells.len() - 1
        });
        self.cells[at].encode.add(encode);
        self.cells[at].decode.add(decode);
    }

    pub(crate) fn of(&self, codec: Codec) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.codec == codec)
    }

    /// Returns the ratios of the best times of `codec` to those of `to`, for encoding and for decoding.
    pub(crate) fn ratios(&self, codec: Codec, to: Codec) -> Option<[f64; 2]> {
        let (this, other) = (self.of(codec)?, self.of(to)?);
        Some([this.encode.best / other.encode.best, this.decode.best / other.decode.best])
    }

    /// Returns the same ratios, each with an interval for the median of the rounds.
    pub(crate) fn judged(&self, codec: Codec, to: Codec) -> Option<[Ratio; 2]> {
        let (this, other) = (self.of(codec)?, self.of(to)?);
        let [encode, decode] = self.ratios(codec, to)?;
        let of = |seen: f64, this: &Times, other: &Times| {
            let rounds = this.rounds.iter().zip(&other.rounds);
            let ratios = rounds.map(|(this, other)| this / other).collect();
            Ratio { seen, interval: interval_of_median(ratios) }
        };
        Some([of(encode, &this.encode, &other.encode), of(decode, &this.decode, &other.decode)])
    }
}

/// Returns an interval that contains the median with a probability of at least 95 %, for any distribution. Its ends are
/// two of the sorted values, at the ranks of the 2.5 % tails of a binomial distribution. With fewer than six values, it
/// spans all of them, and the probability is lower.
fn interval_of_median(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let tosses = values.len() as f64;
    let mut cut = 0usize;
    let mut chance = 0.5f64.powf(tosses); // of exactly `cut` heads
    let mut below = chance; // of as many at most
    while below <= 0.025 {
        cut += 1;
        chance *= (tosses - cut as f64 + 1.0) / cut as f64;
        below += chance;
    }
    let cut = cut.saturating_sub(1);
    let high = values.len().checked_sub(cut + 1)?;
    Some((*values.get(cut)?, *values.get(high)?))
}

impl Report {
    /// Draws the rows in native byte order: a panel for each direction, a bar for each codec.
    pub(crate) fn drawing(&self) -> Drawing {
        let panels = DIRECTIONS.map(|(direction, of)| {
            let bars = self.lines.iter().filter(|line| line.native).map(|line| {
                (line.row, line.cells.iter().map(move |cell| (cell.codec, of(cell).best)))
            });
            Panel::bars(direction, Axis::log("nanoseconds"), bars)
        });
        let title = format!("{}; {}; native order", self.machine, self.placement);
        Drawing { title, across: 2, panels: panels.into() }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { machine, placement, rounds, milliseconds, lines, code } = self;
        writeln!(
            f,
            "{machine}\n{placement}; {rounds} rounds of {milliseconds} ms in turns; nanoseconds, medians of the best \
             round"
        )?;
        let codecs = || lines.iter().take(1).flat_map(|line| &line.cells).map(|cell| cell.codec);
        let known = |codec| codecs().any(|it| it == codec);
        let ratios: Vec<_> =
            RATIOS.into_iter().filter(|(_, (this, to))| known(*this) && known(*to)).collect();
        for (at, (direction, of)) in DIRECTIONS.into_iter().enumerate() {
            let table = Table::of(lines)
                .left([direction], |line| [line.row])
                .right(["order"], |line| [if line.native { "native" } else { "swapped" }])
                .right(["octets"], |line| [line.octets])
                .fixed(codecs(), 1, |line| line.cells.iter().map(|cell| of(cell).best))
                .fixed(ratios.iter().map(|(short, _)| short), 2, |line| {
                    let ratios = ratios.iter().map(|(_, (this, to))| line.ratios(*this, *to));
                    ratios.map(|ratios| ratios.map(|both| both[at])).collect::<Vec<_>>()
                });
            write!(f, "\n{table}")?;
        }
        let table = Table::of(code)
            .left(["octets of code"], |it| [&it.name])
            .right(["compiled", "interpreted"], |it| [it.compiled, it.interpreted])
            .fixed(["i/c"], 2, |it| [it.interpreted as f64 / it.compiled as f64]);
        if !table.is_empty() {
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}

/// Direction, and its times in a cell.
type Direction = (&'static str, fn(&Cell) -> &Times);
const DIRECTIONS: [Direction; 2] =
    [("encode", |cell| &cell.encode), ("decode", |cell| &cell.decode)];

/// Ratios in the table: compiled code to omniORB, and interpreted to compiled.
const RATIOS: [(&str, (Codec, Codec)); 2] =
    [("c/omni", (Codec::Compiled, Codec::OmniOrb)), ("i/c", (Codec::Interpreted, Codec::Compiled))];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_between_the_best_rounds() {
        let mut line = Line::new("long", "", ByteOrder::Big);
        for time in [30.0, 10.0, 20.0] {
            line.add(Codec::Compiled, time, 2.0 * time);
        }
        line.add(Codec::OmniOrb, 20.0, 80.0);
        let ratios = line.ratios(Codec::Compiled, Codec::OmniOrb);
        assert_eq!(ratios, Some([0.5, 0.25]));
        let cell = line.of(Codec::Compiled).unwrap();
        assert_eq!((cell.encode.best, cell.encode.median), (10.0, 20.0));
    }

    #[test]
    fn an_interval_leaves_out_what_is_rare() {
        let of = |n: u32| interval_of_median((1..=n).rev().map(f64::from).collect());
        assert_eq!(of(0), None);
        assert_eq!(of(1), Some((1.0, 1.0)));
        assert_eq!(of(5), Some((1.0, 5.0)));
        assert_eq!(of(6), Some((1.0, 6.0)));
        assert_eq!(of(9), Some((2.0, 8.0)));
        assert_eq!(of(10), Some((2.0, 9.0)));
        assert_eq!(of(20), Some((6.0, 15.0)));
    }

    #[test]
    fn other_octets_end_the_run() {
        let mut line = Line::new("long", "", ByteOrder::Big);
        line.compare(Codec::Compiled, "4 00ff").unwrap();
        assert_eq!(line.octets, 4);
        assert!(line.compare(Codec::OmniOrb, "4 ff00").is_ok());
        assert!(line.compare(Codec::OmniOrb, "5 00ff").is_err());
        assert!(line.compare(Codec::Compiled, "4 ff00").is_err());
    }
}
