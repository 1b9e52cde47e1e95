//! The bounds that the project set itself for marshalling. A verdict is printed, never asserted: times belong to the
//! machine of the moment.

use std::fmt;

use super::Codec;
use super::report::{Interval, Report};

/// To omniORB: strictly not slower, as far as the rounds can tell; half the time for sequences of structs.
const ANY_ROW: f64 = 1.0;
const SEQUENCES_OF_STRUCTS: f64 = 0.5;

/// One line of a verdict.
struct Verdict {
    what: String,
    most: f64,
    /// Between the best rounds, as in the table.
    ratio: f64,
    interval: Interval,
}

/// What this run says of each bound.
pub(crate) struct Verdicts {
    rounds: u32,
    verdicts: Vec<Verdict>,
}

/// Compares the run with every bound.
pub(crate) fn verdicts(report: &Report) -> Verdicts {
    let mut verdicts = Vec::new();
    for line in &report.lines {
        let compared = (Codec::Compiled, Codec::OmniOrb);
        let Some(ratios) = line.ratios(compared.0, compared.1) else {
            continue;
        };
        let Some(intervals) = line.intervals(compared.0, compared.1) else {
            continue;
        };
        let most = match is_sequence_of_structs(line.row) {
            true => SEQUENCES_OF_STRUCTS,
            false => ANY_ROW,
        };
        let measured = ratios.into_iter().zip(intervals);
        for (direction, (ratio, interval)) in ["encode", "decode"].into_iter().zip(measured) {
            verdicts.push(Verdict {
                what: format!("{} {}-endian, {direction}", line.row, line.order),
                most,
                ratio,
                interval,
            });
        }
    }
    Verdicts {
        rounds: report.rounds,
        verdicts,
    }
}

fn is_sequence_of_structs(row: &str) -> bool {
    row.starts_with("samples-") || row.starts_with("entries-")
}

impl Verdict {
    /// Two copies of the same octets take the same time, and a run finds one or the other a little faster: who is not
    /// slower is told by the interval. Half the time is a number like any other.
    fn is_met(&self) -> bool {
        match self.most == ANY_ROW {
            true => self.interval.word() != "slower",
            false => (self.ratio * 100.0).round() <= self.most * 100.0,
        }
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.verdicts.is_empty() {
            return writeln!(f, "not measured: both OxORB and omniORB are needed");
        }
        let count =
            |test: &dyn Fn(&Verdict) -> bool| self.verdicts.iter().filter(|v| test(v)).count();
        writeln!(
            f,
            "{} of {} bounds met: not slower than omniorb, for sequences of structs at most {SEQUENCES_OF_STRUCTS:.2} x",
            count(&Verdict::is_met),
            self.verdicts.len()
        )?;
        let [faster, equal, slower] =
            ["faster", "equal", "slower"].map(|word| count(&|v| v.interval.word() == word));
        writeln!(
            f,
            "{faster} faster, {equal} equal, {slower} slower: where the median ratio of {} rounds lies, at 95 %",
            self.rounds
        )?;
        for verdict in &self.verdicts {
            let Verdict {
                what,
                most,
                ratio,
                interval,
            } = verdict;
            let Interval { low, high } = interval;
            write!(
                f,
                "{what:36} {ratio:>5.2}, {low:.2} to {high:.2} {:6}",
                interval.word()
            )?;
            match verdict.is_met() {
                true => writeln!(f)?,
                false => writeln!(f, "  MISSED, at most {most:.2}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(most: f64, ratio: f64, low: f64, high: f64) -> Verdict {
        Verdict {
            what: String::new(),
            most,
            ratio,
            interval: Interval { low, high },
        }
    }

    #[test]
    fn not_slower_is_told_by_the_interval() {
        assert!(verdict(ANY_ROW, 1.02, 0.97, 1.04).is_met());
        assert!(verdict(ANY_ROW, 0.90, 0.88, 0.93).is_met());
        assert!(!verdict(ANY_ROW, 1.00, 1.01, 1.04).is_met());
    }

    #[test]
    fn half_the_time_is_told_by_the_ratio() {
        assert!(verdict(SEQUENCES_OF_STRUCTS, 0.504, 0.45, 0.60).is_met());
        assert!(!verdict(SEQUENCES_OF_STRUCTS, 0.51, 0.45, 0.60).is_met());
    }
}
