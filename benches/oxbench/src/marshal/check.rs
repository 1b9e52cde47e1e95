//! The bounds that the project set itself for marshalling. A verdict is printed, never asserted: times belong to the
//! machine of the moment.

use std::fmt;

use super::Codec;
use super::report::Report;

/// To omniORB: strictly not slower, to two digits as the table shows it; half the time for sequences of structs.
const ANY_ROW: f64 = 1.0;
const SEQUENCES_OF_STRUCTS: f64 = 0.5;

/// One line of a verdict.
struct Verdict {
    what: String,
    most: f64,
    ratio: f64,
}

/// What this run says of each bound.
pub(crate) struct Verdicts(Vec<Verdict>);

/// Compares the run with every bound.
pub(crate) fn verdicts(report: &Report) -> Verdicts {
    let mut verdicts = Vec::new();
    for line in &report.lines {
        let Some(ratios) = line.ratios(Codec::Compiled, Codec::OmniOrb) else {
            continue;
        };
        let most = match is_sequence_of_structs(line.row) {
            true => SEQUENCES_OF_STRUCTS,
            false => ANY_ROW,
        };
        for (direction, ratio) in ["encode", "decode"].into_iter().zip(ratios) {
            verdicts.push(Verdict {
                what: format!("{} {}-endian, {direction}", line.row, line.order),
                most,
                ratio,
            });
        }
    }
    Verdicts(verdicts)
}

fn is_sequence_of_structs(row: &str) -> bool {
    row.starts_with("samples-") || row.starts_with("entries-")
}

impl Verdict {
    fn is_met(&self) -> bool {
        (self.ratio * 100.0).round() <= self.most * 100.0
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return writeln!(f, "not measured: both OxORB and omniORB are needed");
        }
        let met = self.0.iter().filter(|verdict| verdict.is_met()).count();
        writeln!(
            f,
            "{met} of {} bounds met: at most {ANY_ROW:.2} x omniorb, for sequences of structs {SEQUENCES_OF_STRUCTS:.2} x",
            self.0.len()
        )?;
        for verdict in self.0.iter().filter(|verdict| !verdict.is_met()) {
            let Verdict { what, most, ratio } = verdict;
            writeln!(f, "{what:40} at most {most:.2}  MISSED, {ratio:.2}")?;
        }
        Ok(())
    }
}
