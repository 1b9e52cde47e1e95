//! What people see of the demo: a table that lives on a terminal, lines elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use terminal_size::{Height, Width, terminal_size};

use super::client::{Role, Told};
use super::server::Started;
use crate::output::{BAD, Done, FAINT, Format, GOOD, STRONG, control, print};
use crate::statistics::Time;

/// How often the table changes on a terminal.
pub(crate) const REFRESH: Duration = Duration::from_millis(250);

/// Lines that are no terminal come this much less often.
const LINES_EVERY: u32 = 4;

/// Shows what the clients tell.
pub(crate) struct Display<'s> {
    how: How,
    started: &'s Started,
    updates: u32,
    /// Lines of the table that are on the terminal now.
    drawn: usize,
}

#[derive(PartialEq)]
enum How {
    Table,
    Lines,
    /// JSON comes at the end, all at once.
    Silent,
}

impl<'s> Display<'s> {
    pub(crate) fn new(format: Format, started: &'s Started) -> Self {
        let how = match format {
            Format::Json => How::Silent,
            Format::Text if stdout().is_terminal() && !is_dumb() => How::Table,
            Format::Text => How::Lines,
        };
        Display {
            how,
            started,
            updates: 0,
            drawn: 0,
        }
    }

    /// Says where the object is.
    pub(crate) fn begin(&self) -> Done {
        if self.how == How::Silent {
            return Ok(());
        }
        print(format!(
            "{STRONG}A Navigator is being served{STRONG:#} {FAINT}(IDL: oxorb demo --idl){FAINT:#}\n  {}\n  {}\n\n\
             Call it from another ORB while this runs, or try:\n  oxorb ping {}\n\n",
            self.started.corbaloc, self.started.ior, self.started.corbaloc
        ))
    }

    /// Shows how far the clients are.
    pub(crate) fn update(&mut self, clients: &[Told]) -> Done {
        self.updates += 1;
        match self.how {
            How::Silent => Ok(()),
            How::Table => self.redraw(clients),
            How::Lines if self.updates.is_multiple_of(LINES_EVERY) => {
                let mut text = String::new();
                for (number, told) in clients.iter().enumerate() {
                    let _ = writeln!(text, "{}", line(number, told));
                }
                print(text)
            }
            How::Lines => Ok(()),
        }
    }

    /// Shows how it ended.
    pub(crate) fn summary(&mut self, clients: &[Told]) -> Done {
        match self.how {
            How::Silent => return Ok(()),
            How::Table => self.erase()?,
            How::Lines => {}
        }
        print(table(clients).text(usize::MAX))?;
        let calls: u64 = clients.iter().map(|told| told.latency.calls).sum();
        let failed = clients.iter().filter(|told| told.error.is_some()).count();
        let verdict = if failed == 0 {
            format!("{GOOD}All {} clients were served{GOOD:#}", clients.len())
        } else {
            format!("{BAD}{failed} of {} clients failed{BAD:#}", clients.len())
        };
        print(format!(
            "\n{verdict}: {calls} calls over {} TCP connections.\n",
            clients.len()
        ))
    }

    /// A line that wraps, or scrolls away, could not be drawn over: what does
    /// not fit the terminal as it is now is left out until the summary.
    fn redraw(&mut self, clients: &[Told]) -> Done {
        self.erase()?;
        let (columns, rows) = match terminal_size() {
            Some((Width(columns), Height(rows))) => (usize::from(columns), usize::from(rows)),
            None => (80, 24),
        };
        let mut table = table(clients);
        table.lines.truncate(rows.saturating_sub(2));
        self.drawn = 1 + table.lines.len();
        print(table.text(columns))
    }

    fn erase(&mut self) -> Done {
        match std::mem::take(&mut self.drawn) {
            0 => Ok(()),
            lines => control(&format!("\x1b[{lines}A\x1b[J")),
        }
    }
}

/// A terminal that cannot move its cursor.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|terminal| terminal == "dumb")
}

/// Fits 80 columns.
struct Table {
    head: String,
    lines: Vec<String>,
}

impl Table {
    /// At most so many columns of it.
    fn text(&self, columns: usize) -> String {
        // All of it is ASCII: an octet is a column.
        let cut = |line: &str| line.get(..columns).unwrap_or(line).to_owned();
        let mut text = format!("{STRONG}{}{STRONG:#}\n", cut(&self.head));
        for line in &self.lines {
            let _ = writeln!(text, "{}", cut(line));
        }
        text
    }
}

fn table(clients: &[Told]) -> Table {
    let head = format!(
        "{:<2} {:<27} {:>8} {:>9} {:>9} {:>9} {:>9}",
        "#", "client", "calls/s", "p50", "p99", "p99.9", "max"
    );
    let lines = clients.iter().enumerate().map(|(number, told)| {
        let latency = &told.latency;
        format!(
            "{:<2} {:<27} {:>8.0} {:>9} {:>9} {:>9} {:>9}",
            number + 1,
            what(told.role),
            rate(told),
            Time(latency.p50_ns),
            Time(latency.p99_ns),
            Time(latency.p999_ns),
            Time(latency.max_ns),
        )
    });
    Table {
        head,
        lines: lines.collect(),
    }
}

fn line(number: usize, told: &Told) -> String {
    let latency = &told.latency;
    format!(
        "client {} ({}): {:.1} s, {} calls, {:.0} calls/s, p50 {}, p99 {}, p99.9 {}, max {}",
        number + 1,
        told.role.name(),
        told.seconds,
        latency.calls,
        rate(told),
        Time(latency.p50_ns),
        Time(latency.p99_ns),
        Time(latency.p999_ns),
        Time(latency.max_ns),
    )
}

fn what(role: Role) -> &'static str {
    match role {
        Role::Position => "position (struct back)",
        Role::Route => "route (100 structs out)",
        Role::Alarm => "alarm (user exception back)",
    }
}

fn rate(told: &Told) -> f64 {
    if told.seconds > 0.0 {
        told.latency.calls as f64 / told.seconds
    } else {
        0.0
    }
}
