//! Project's target for the HTTP gateway.

use super::report::Report;
use crate::bootstrap::Ratio;
use crate::verdict::{Verdicts, at_least};

/// Least number of requests per second, with the best number of connections.
const LEAST: f64 = 10_000.0;

/// Greatest number of CPUs that client, gateway and server may share in a run that shows the target.
const MOST_CPUS: usize = 2;

/// Returns the verdict on the target.
pub(super) fn verdicts(report: &Report) -> Verdicts {
    let best = report.rows.iter().map(|row| row.each_second).max_by(f64::total_cmp);
    let seen = best.filter(|_| report.cpus <= MOST_CPUS).map(Ratio::exactly);
    let bound = format!("requests a second on {} of at most {MOST_CPUS} CPUs", report.cpus);
    Verdicts::new([at_least(bound, seen, LEAST)])
}

#[cfg(test)]
mod tests {
    use super::super::Taken;
    use super::super::report::Row;
    use super::*;
    use crate::machine::Machine;

    /// Returns a run on this number of CPUs, in which each request takes this number of nanoseconds.
    fn run(cpus: usize, paces: &[u64]) -> Report {
        let rows = paces.iter().map(|pace| {
            let mut taken = Taken::nothing(8);
            taken.times.add(vec![8 * pace; 5]);
            taken.paces.push(*pace);
            Row::of(&taken)
        });
        Report {
            machine: Machine::this(),
            placement: "here".into(),
            cpus,
            rounds: 1,
            calls: 16,
            rows: rows.collect(),
        }
    }

    #[test]
    fn the_best_row_meets_the_target_or_not() {
        let met = run(2, &[200_000, 90_000]);
        let verdict = verdicts(&met).to_string();
        assert!(verdict.starts_with("met      requests a second on 2 of at most 2"), "{verdict}");
        assert!(verdict.contains("11111.11, wanted at least 10000"), "{verdict}");
        assert!(met.to_string().contains("11111"), "{met}");
        assert!(verdicts(&run(2, &[200_000])).to_string().starts_with("NOT MET"));
        assert!(verdicts(&run(2, &[])).to_string().starts_with("unknown"));
        let many = verdicts(&run(3, &[90_000])).to_string();
        assert!(many.starts_with("unknown"), "more CPUs do not show the target: {many}");
    }
}
