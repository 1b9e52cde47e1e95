//! Instructions from a request's octets to its upcall, which must not grow with the number of objects, operations and
//! nested POAs; and the instructions of collocated calls.

use std::fmt;
use std::process::Command;
use std::thread;

use clap::ValueEnum;
use serde::Serialize;

use super::callgrind::Log;
use crate::Result;
use crate::collocated::Way;
use crate::demux::Shape;
use crate::table::Table;

/// Two numbers of requests or calls; the difference between their counts is used.
const FEW: u32 = 1_000;
const MANY: u32 = 5_000;

/// Permitted growth of a request's cost with the number of objects, due to longer names and keys, and to variation of
/// hashing.
const GROWTH: f64 = 1.15;

/// Growing quantity with its kind of lookup, and the numbers for which to count.
const ROWS: [(Shape, [usize; 3]); 5] = [
    (Shape::Objects, [1, 100, 100_000]),
    (Shape::NamedObjects, [1, 100, 100_000]),
    (Shape::Operations, [1, 100, 1_000]),
    (Shape::NamedOperations, [1, 100, 1_000]),
    (Shape::Depth, [1, 10, 100]),
];

/// Linear searches, whose growth the check must detect to prove that it works.
const PLANTED: [(Shape, [usize; 2]); 2] =
    [(Shape::SearchedObjects, [1, 100]), (Shape::SearchedOperations, [1, 100])];

/// Maximum number of instructions of a direct call, from a thread of the application and within a lane, in cargo's
/// release profile. `docs/benchmarking.md` has the measured numbers.
const DIRECT: f64 = 800.0;
const WITHIN_LANE: f64 = 1050.0;

/// All counts.
#[derive(Debug, Serialize)]
pub(super) struct Scale {
    rows: Vec<Row>,
    calls: Vec<Call>,
}

/// Instructions of a request with growing numbers.
#[derive(Debug, Serialize)]
struct Row {
    of: String,
    /// Numbers, each with the instructions of one request.
    points: Vec<(usize, f64)>,
    /// Whether the check must fail.
    planted: bool,
}

/// Instructions of a collocated call.
#[derive(Debug, Serialize)]
struct Call {
    way: Way,
    instructions: f64,
}

/// Counts the instructions of all rows and calls.
pub(super) fn count() -> Result<Scale> {
    let real = ROWS.iter().flat_map(|(shape, sizes)| {
        let sizes = sizes.iter();
        sizes.map(|many| (*shape, *many, false))
    });
    let planted = PLANTED.iter().flat_map(|(shape, sizes)| {
        let sizes = sizes.iter();
        sizes.map(|many| (*shape, *many, true))
    });
    let mut rows: Vec<Row> = Vec::new();
    for (shape, many, planted) in real.chain(planted) {
        let of = name(&shape);
        let args = ["demux".to_owned(), of.clone(), many.to_string()];
        let point = (many, steady(&args, many)?);
        match rows.last_mut() {
            Some(row) if row.of == of => row.points.push(point),
            _ => rows.push(Row { of, points: vec![point], planted }),
        }
    }
    let calls = Way::COUNTED.into_iter().map(|way| {
        let args = ["collocated".to_owned(), name(&way)];
        Ok(Call { way, instructions: difference(&args, MANY)? })
    });
    Ok(Scale { rows, calls: calls.collect::<Result<_>>()? })
}

/// Returns the name on the command line.
fn name(value: &impl ValueEnum) -> String {
    let value = value.to_possible_value().expect("none is skipped");
    value.get_name().to_owned()
}

/// Number of objects from which on the instructions of setup vary enough to affect a difference.
const LARGE: usize = 10_000;

/// Number of requests for [`LARGE`] or more objects; the variation is divided by this number.
const VERY_MANY: u32 = 41_000;

/// Returns the instructions of one request among `many`; for a large number of objects, the median of three counts.
fn steady(args: &[String], many: usize) -> Result<f64> {
    let (times, last) = match many < LARGE {
        true => (1, MANY),
        false => (3, VERY_MANY),
    };
    let mut counted: Vec<f64> =
        (0..times).map(|_| difference(args, last)).collect::<Result<_>>()?;
    counted.sort_by(f64::total_cmp);
    Ok(counted[times / 2])
}

/// Returns the instructions of one request or call of a side of this program, from a run with `last` of them and a run
/// with [`FEW`]. The number is the last argument of the side.
fn difference(args: &[String], last: u32) -> Result<f64> {
    let count = |times: u32| -> Result<u64> {
        let log = Log::new(&format!("{}-{times}", args.join("-")));
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("peer").args(args).arg(times.to_string());
        let output = log.wrap(&command).output()?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!("counting {} failed: {told}", args.join(" ")).into());
        }
        log.instructions()
    };
    let (few, many) = thread::scope(|scope| {
        let few = scope.spawn(|| count(FEW));
        let many = count(last);
        (few.join().expect("it does not panic"), many)
    });
    let difference = many?.saturating_sub(few?) as f64;
    Ok(difference / f64::from(last - FEW))
}

impl Scale {
    /// Returns a sentence for each exceeded bound.
    pub(super) fn broken(&self) -> Vec<String> {
        let rows = self.rows.iter().filter_map(Row::broken);
        let calls = self.calls.iter().filter_map(Call::broken);
        rows.chain(calls).collect()
    }
}

impl Row {
    fn broken(&self) -> Option<String> {
        let &[(_, alone), ..] = self.points.as_slice() else {
            return None;
        };
        let grown = self.points.iter().find(|(_, instructions)| *instructions > alone * GROWTH);
        match (grown, self.planted) {
            (Some((many, instructions)), false) => Some(format!(
                "{}: {instructions:.0} instructions a request among {many}, {alone:.0} alone",
                self.of
            )),
            (None, true) => Some(format!(
                "{}: the search one by one does not show, so these counts show nothing",
                self.of
            )),
            _ => None,
        }
    }
}

impl Call {
    fn broken(&self) -> Option<String> {
        let Call { way, instructions } = self;
        let bound = match way {
            Way::Direct => DIRECT,
            Way::WithinLane => WITHIN_LANE,
            Way::Marshalled | Way::ThroughLane => return None,
        };
        (*instructions > bound)
            .then(|| format!("{instructions:.0} instructions of a call {way}, {bound} allowed"))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "instructions from a request's octets to its upcall:")?;
        for Row { of, points, planted } in &self.rows {
            write!(f, "  {of:20}")?;
            for (many, instructions) in points {
                write!(f, " {instructions:6.0} among {many}")?;
            }
            writeln!(f, "{}", if *planted { " (has to grow)" } else { "" })?;
        }
        writeln!(f, "instructions of a call within the process:")?;
        Table::of(&self.calls)
            .left([""], |it| [it.way])
            .fixed([""], 0, |it| [it.instructions])
            .fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instructions: [f64; 3], planted: bool) -> Option<String> {
        let points = [1, 100, 1_000].into_iter().zip(instructions).collect();
        let of = "objects".to_owned();
        Row { of, points, planted }.broken()
    }

    #[test]
    fn growth_is_seen_and_has_to_be_where_it_is_planted() {
        assert_eq!(row([500.0, 520.0, 560.0], false), None);
        let grown = row([500.0, 520.0, 600.0], false).unwrap();
        assert_eq!(grown, "objects: 600 instructions a request among 1000, 500 alone");
        assert_eq!(row([500.0, 600.0, 6000.0], true), None);
        assert!(row([500.0, 500.0, 500.0], true).unwrap().contains("show nothing"));
    }

    #[test]
    fn a_direct_call_has_its_bound() {
        let call = |way, instructions| Call { way, instructions }.broken();
        assert_eq!(call(Way::Direct, DIRECT - 1.0), None);
        assert_eq!(call(Way::Marshalled, 3000.0), None);
        assert!(call(Way::WithinLane, WITHIN_LANE + 1.0).unwrap().contains("1050 allowed"));
    }
}
