//! Display of an act while it runs: a live histogram on a terminal, lines elsewhere.

use std::time::Duration;

use super::Args;
use super::act::{Act, WORK};
use super::client::{BOUNDS, BusyTold, UrgentTold};
use super::live::{Live, progress};
use super::server::Started;
use oxorb_terminal::output::{Done, FAINT, Format, STRONG, print};
use oxorb_terminal::statistics::Time;

/// Time between updates on a terminal.
pub(super) const REFRESH: Duration = Duration::from_millis(250);

/// Poll interval for reports.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Factor by which lines are rarer if the output is no terminal.
const LINES_EVERY: u32 = 8;

/// Display of the clients' reports.
pub(super) struct Display {
    how: How,
    seconds: u32,
    clients: u32,
    updates: u32,
    live: Live,
}

#[derive(PartialEq)]
enum How {
    Live,
    Lines,
    /// No display, because the result is printed as JSON at the end.
    Silent,
}

impl Display {
    pub(super) fn new(args: &Args) -> Self {
        let how = match args.format {
            Format::Json => How::Silent,
            Format::Text if Live::is_possible() => How::Live,
            Format::Text => How::Lines,
        };
        Display {
            how,
            seconds: args.seconds,
            clients: args.clients,
            updates: 0,
            live: Live::default(),
        }
    }

    /// Prints an introduction.
    pub(super) fn begin(&self) -> Done {
        if self.how == How::Silent {
            return Ok(());
        }
        print(format!(
            "{STRONG}One urgent client{STRONG:#} calls a server 50 times a second. {STRONG}{} other clients{STRONG:#} \
             call it without a pause,\nand each of their calls takes {WORK} us of the server's only CPU.\n",
            self.clients
        ))
    }

    /// Announces an act.
    pub(super) fn rise(&mut self, act: Act, started: &Started) -> Done {
        self.updates = 0;
        if self.how == How::Silent {
            return Ok(());
        }
        print(format!(
            "\n{STRONG}{}{STRONG:#}\n{FAINT}server on CPU {}; join in at {} (IDL: oxorb demo --idl){FAINT:#}\n",
            act.title(),
            started.cpu,
            started.corbaloc
        ))
    }

    /// Shows the progress of the act.
    pub(super) fn update(&mut self, urgent: &UrgentTold, others: &BusyTold) -> Done {
        self.updates += 1;
        match self.how {
            How::Live => self.redraw(urgent, others),
            How::Lines if self.updates.is_multiple_of(LINES_EVERY) => {
                print(line(urgent, others) + "\n")
            }
            How::Lines | How::Silent => Ok(()),
        }
    }

    /// Clears the live part, whose contents are shown again in the comparison.
    pub(super) fn fall(&mut self) -> Done {
        self.live.erase()
    }

    fn redraw(&mut self, urgent: &UrgentTold, others: &BusyTold) -> Done {
        let mut lines = vec![progress(urgent.seconds, self.seconds), line(urgent, others)];
        lines.extend(histogram(&urgent.shares));
        self.live.draw(lines)
    }
}

fn line(urgent: &UrgentTold, others: &BusyTold) -> String {
    let latency = &urgent.latency;
    format!(
        "urgent: {} calls, p50 {}, p99 {}, max {}; others: {:.0} calls/s",
        latency.calls,
        Time(latency.p50_ns),
        Time(latency.p99_ns),
        Time(latency.max_ns),
        others.rate(),
    )
}

/// Returns the lines of a histogram of the urgent client's call durations.
fn histogram(shares: &[u64]) -> impl Iterator<Item = String> {
    let bars = shares.iter().zip(labels());
    let bars = bars.map(|(&count, label)| format!("{label} |{} {count}", bar(shares, count, 44)));
    bars.collect::<Vec<_>>().into_iter()
}

/// Returns the labels before the bars of a histogram, one for each of the shares.
pub(super) fn labels() -> impl Iterator<Item = String> {
    let bounded = BOUNDS.map(|bound| format!("up to {:>9}", Time(bound).to_string()));
    bounded.into_iter().chain([format!("{:>15}", "longer")])
}

/// Returns a bar of at most `width` columns; a few calls among many are still visible.
pub(super) fn bar(shares: &[u64], count: u64, width: u64) -> String {
    let all = shares.iter().sum::<u64>().max(1);
    "#".repeat((count * width).div_ceil(all) as usize)
}
