//! Project's bounds on marshalling. Verdicts are printed, never asserted: times depend on the state of the machine.

use std::fmt;

use super::Codec;
use super::report::Report;
use crate::bootstrap::Ratio;
use crate::table::Table;

/// Greatest permitted ratio to the time of omniORB: not slower, within the confidence interval of the rounds; for
/// sequences of structs, half the time.
const ANY_ROW: f64 = 1.0;
const SEQUENCES_OF_STRUCTS: f64 = 0.5;

/// Verdict on one bound.
struct Verdict {
    what: String,
    most: f64,
    ratio: Ratio,
}

/// Verdicts of this run on each bound.
pub(crate) struct Verdicts {
    rounds: u32,
    verdicts: Vec<Verdict>,
}

/// Compares the run with every bound.
pub(crate) fn verdicts(report: &Report) -> Verdicts {
    let mut verdicts = Vec::new();
    for line in &report.lines {
        let Some(ratios) = line.judged(Codec::Compiled, Codec::OmniOrb) else {
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
    Verdicts { rounds: report.rounds, verdicts }
}

fn is_sequence_of_structs(row: &str) -> bool {
    row.starts_with("samples-") || row.starts_with("entries-")
}

/// Returns the relation of the numerator to the denominator: faster or slower throughout the interval, or equal.
fn word(ratio: Ratio) -> &'static str {
    let (low, high) = ratio.interval.unwrap_or((ratio.seen, ratio.seen));
    if high < 1.0 {
        "faster"
    } else if low > 1.0 {
        "slower"
    } else {
        "equal"
    }
}

impl Verdict {
    /// Reports whether the bound holds. If the bound is an equal time, the confidence interval decides: even of two
    /// copies of the same octets, one is slightly faster in each run. A bound of half the time is compared with the
    /// ratio itself.
    fn is_met(&self) -> bool {
        match self.most == ANY_ROW {
            true => word(self.ratio) != "slower",
            false => (self.ratio.seen * 100.0).round() <= self.most * 100.0,
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
            "{} of {} bounds met: not slower than omniorb; sequences of structs at most {SEQUENCES_OF_STRUCTS:.2} x",
            count(&Verdict::is_met),
            self.verdicts.len()
        )?;
        let [faster, equal, slower] =
            ["faster", "equal", "slower"].map(|one| count(&|verdict| word(verdict.ratio) == one));
        writeln!(
            f,
            "{faster} faster, {equal} equal, {slower} slower: where the median ratio of {} rounds lies, at 95 %",
            self.rounds
        )?;
        let table = Table::of(&self.verdicts)
            .left([""], |it| [&it.what])
            .left([""], |it| [it.ratio])
            .left([""], |it| [word(it.ratio)])
            .left([""], |it| match it.is_met() {
                true => [String::new()],
                false => [format!("MISSED, at most {:.2}", it.most)],
            });
        table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(seen: f64, low: f64, high: f64) -> Ratio {
        Ratio { seen, interval: Some((low, high)) }
    }

    fn verdict(most: f64, ratio: Ratio) -> Verdict {
        Verdict { what: String::new(), most, ratio }
    }

    #[test]
    fn who_is_slower_is_so_in_all_of_the_interval() {
        assert_eq!(word(ratio(0.95, 0.9, 0.99)), "faster");
        assert_eq!(word(ratio(0.95, 0.9, 1.0)), "equal");
        assert_eq!(word(ratio(1.05, 1.0, 1.1)), "equal");
        assert_eq!(word(ratio(1.05, 1.01, 1.1)), "slower");
    }

    #[test]
    fn not_slower_is_told_by_the_interval() {
        assert!(verdict(ANY_ROW, ratio(1.02, 0.97, 1.04)).is_met());
        assert!(verdict(ANY_ROW, ratio(0.90, 0.88, 0.93)).is_met());
        assert!(!verdict(ANY_ROW, ratio(1.00, 1.01, 1.04)).is_met());
    }

    #[test]
    fn half_the_time_is_told_by_the_ratio() {
        assert!(verdict(SEQUENCES_OF_STRUCTS, ratio(0.504, 0.45, 0.60)).is_met());
        assert!(!verdict(SEQUENCES_OF_STRUCTS, ratio(0.51, 0.45, 0.60)).is_met());
    }
}
