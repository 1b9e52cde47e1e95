//! Comparison of the two acts.

use std::fmt::{self, Display};

use super::act::Played;
use super::instrument::Seen;
use oxorb_terminal::output::{BAD, FAINT, GOOD, STRONG};
use oxorb_terminal::statistics::Time;

/// Comparison of both acts, shown last and as JSON.
#[derive(serde::Serialize)]
pub(super) struct Comparison {
    /// Factor by which a picture of the navigation display took longer than planned.
    pub(super) load: u32,
    pub(super) ordinary: Played,
    pub(super) real_time: Played,
}

impl Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ordinary, real_time) = (&self.ordinary, &self.real_time);
        writeln!(
            f,
            "\n{STRONG}{:36}{:>18}{:>26}{STRONG:#}",
            "", "ordinary server", "with real-time resources"
        )?;
        table(f, "warning display", &ordinary.warning, &real_time.warning)?;
        table(f, "navigation display", &ordinary.navigation, &real_time.navigation)?;
        writeln!(f, "\n{}", self.verdict())?;
        writeln!(
            f,
            "\nFrom the first act to the second, 0 lines of code and 0 lines of the plan changed; one document was \
             added. {FAINT}The\ncollision subsystem was added to the navigation display in the same way, only by the \
             plan: examples/avionics-display.{FAINT:#}"
        )
    }
}

impl Comparison {
    fn verdict(&self) -> String {
        let (before, after) = (&self.ordinary.warning, &self.real_time.warning);
        if self.real_time.real_time_threads == 0 {
            return "This user may not use SCHED_FIFO: in act 2 the warning display had its own threads but no \
                    priority, so it was not\npreferred. The proof assumes the priority. It requires a privilege (root, \
                    CAP_SYS_NICE or `ulimit -r 61`)."
                .to_owned();
        }
        let threads = format!(
            "{} threads had a priority of SCHED_FIFO in act 2",
            self.real_time.real_time_threads
        );
        match (before.missed, after.missed) {
            (0, 0) => format!(
                "{threads}, but no improvement was possible: the ordinary server met all deadlines.\n\
                 Increase the load: --load {}.",
                (self.load * 2).min(20)
            ),
            (_, 0) => format!(
                "{threads}: the warning display precedes the navigation display, and meets\n\
                 all deadlines. Only the navigation display loses the work for which the processor has no time.{}",
                match after.proved_ns {
                    Some(_) => String::new(),
                    None => format!(
                        " One of the\nwarnings took longer than the bound of the check. {}",
                        self.reason()
                    ),
                }
            ),
            (_, missed) => format!(
                "{threads}. {missed} deadlines of the warning display were missed nevertheless.\n{}",
                self.reason()
            ),
        }
    }

    /// Returns the reason why a bound did not hold, as far as it is known.
    fn reason(&self) -> String {
        format!(
            "The check's bound applies to a processor that has no other work: {}.",
            match self.real_time.stolen_ms {
                None => "this kernel does not report the time that the host of a virtual machine\ntook".to_owned(),
                Some(0) => "the host of this machine took less than 10 ms;\n`oxorb doctor` looks for other \
                            reasons"
                    .to_owned(),
                Some(ms) => format!("the host of this virtual machine took {ms} ms\nduring this time"),
            }
        )
    }
}

/// Writes the results of one display.
fn table(f: &mut fmt::Formatter<'_>, name: &str, before: &Seen, after: &Seen) -> fmt::Result {
    writeln!(f, "{name}, deadline {}", Time(before.deadline_ns))?;
    let missed = |seen: &Seen| format!("{} of {}", seen.missed, seen.ticks);
    let style = |seen: &Seen| if seen.missed == 0 { GOOD } else { BAD };
    let (first, second) = (style(before), style(after));
    writeln!(
        f,
        "{:36}{first}{:>18}{first:#}{second}{:>26}{second:#}",
        "  deadlines missed",
        missed(before),
        missed(after)
    )?;
    let time = |time: u64| Time(time).to_string();
    let bound = |seen: &Seen| seen.bound_ns.map_or_else(|| "-".to_owned(), time);
    let about_bound = match after.proved_ns {
        Some(_) => "  proved for the planned work",
        None => "  bound, not proved in this run",
    };
    let rows = [
        ("  of these, never shown", before.lost.to_string(), after.lost.to_string()),
        ("  after its tick, p50", time(before.p50_ns), time(after.p50_ns)),
        ("                  max", time(before.max_ns), time(after.max_ns)),
        (about_bound, bound(before), bound(after)),
    ];
    for (what, before, after) in rows {
        writeln!(f, "{what:36}{before:>18}{after:>26}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn seen(missed: u64, max_ns: u64, bound_ns: Option<u64>) -> Seen {
        Seen {
            deadline_ns: 25 * MS,
            bound_ns,
            proved_ns: bound_ns,
            ticks: 30,
            missed,
            lost: 0,
            p50_ns: max_ns,
            max_ns,
        }
    }

    /// Returns the text about a second act.
    fn told(threads: usize, stolen_ms: Option<u64>, missed: u64, max_ns: u64) -> String {
        let played = |threads, stolen_ms, warning, bound| Played {
            real_time_threads: threads,
            stolen_ms,
            warning,
            navigation: seen(120, 90 * MS, bound),
        };
        let ordinary = played(0, Some(0), seen(30, 130 * MS, None), None);
        let bound = Some(20 * MS);
        let mut real_time = played(threads, stolen_ms, seen(missed, max_ns, bound), bound);
        real_time.judge_proof();
        Comparison { load: 4, ordinary, real_time }.to_string()
    }

    #[test]
    fn a_bound_that_was_kept_is_called_proved() {
        let told = told(9, Some(0), 0, 19 * MS);
        assert_eq!(told.matches("  proved for the planned work").count(), 2, "{told}");
        assert!(told.contains("meets\nall deadlines"), "{told}");
        for absent in ["not proved", "the host of this"] {
            assert!(!told.contains(absent), "{told}");
        }
    }

    #[test]
    fn nothing_is_called_proved_if_warnings_were_late_and_the_host_is_named() {
        for (stolen, reason) in [
            (Some(4_200), "the host of this virtual machine took 4200 ms"),
            (Some(0), "the host of this machine took less than 10 ms"),
            (None, "this kernel does not report the time"),
        ] {
            let told = told(9, stolen, 24, 605 * MS);
            assert!(told.contains("24 deadlines of the warning display were missed"), "{told}");
            assert!(told.contains(reason), "{told}");
            assert!(!told.contains("  proved"), "{told}");
            assert_eq!(told.matches("  bound, not proved in this run").count(), 2, "{told}");
        }
    }

    #[test]
    fn a_bound_that_was_exceeded_within_the_deadline_is_not_called_proved() {
        let told = told(9, Some(10), 0, 24 * MS);
        assert!(told.contains("took longer than the bound of the check"), "{told}");
        assert!(told.contains("took 10 ms"), "{told}");
        assert!(!told.contains("  proved"), "{told}");
    }

    #[test]
    fn nothing_is_called_proved_without_priorities() {
        let told = told(0, Some(0), 0, 19 * MS);
        assert!(told.contains("This user may not use SCHED_FIFO"), "{told}");
        assert!(!told.contains("  proved"), "{told}");
    }
}
