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
                 all deadlines. Only the navigation display loses the work for which the processor has no time."
            ),
            (_, missed) => format!(
                "{threads}. {missed} deadlines of the warning display were missed nevertheless. The\n\
                 proof applies to a processor that has no other work: {}.",
                match self.real_time.stolen_ms {
                    None => "this kernel does not report the time that the host of a virtual machine took".to_owned(),
                    Some(0) => "the host of this machine took less than 10 ms; `oxorb doctor` looks for other reasons"
                        .to_owned(),
                    Some(ms) => format!("the host of this virtual machine took {ms} ms during this time"),
                }
            ),
        }
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
    let proved = |seen: &Seen| seen.proved_ns.map_or_else(|| "-".to_owned(), time);
    let rows = [
        ("  of these, never shown", before.lost.to_string(), after.lost.to_string()),
        ("  after its tick, p50", time(before.p50_ns), time(after.p50_ns)),
        ("                  max", time(before.max_ns), time(after.max_ns)),
        ("  proved for the planned work", proved(before), proved(after)),
    ];
    for (what, before, after) in rows {
        writeln!(f, "{what:36}{before:>18}{after:>26}")?;
    }
    Ok(())
}
