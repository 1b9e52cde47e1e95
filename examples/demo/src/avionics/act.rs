//! Act: a server process that runs the plan, and the output of its displays.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::documents::Documents;
use super::instrument::{Instrument, Seen};
use super::stolen::stolen;
use super::{Args, server};
use crate::display::{LOOK, REFRESH};
use crate::live::{Live, progress};
use crate::process::{PATIENCE, Process};
use oxorb_terminal::output::{Done, FAINT, Failed, Format, STRONG, because, print};

/// The two acts, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Plan alone.
    Ordinary,
    /// Plan with its real-time resources.
    RealTime,
}

impl Act {
    fn title(self) -> &'static str {
        match self {
            Act::Ordinary => "Act 1 of 2, an ordinary server: only the plan",
            Act::RealTime => {
                "Act 2 of 2, a real-time server: the same executable and plan, and its real-time resources"
            }
        }
    }
}

/// Results of an act.
#[derive(serde::Serialize)]
pub(super) struct Played {
    /// Number of threads of the server at SCHED_FIFO.
    pub(super) real_time_threads: usize,
    /// Time that the host took from the server's processor; `None` if the kernel does not report it.
    pub(super) stolen_ms: Option<u64>,
    pub(super) warning: Seen,
    pub(super) navigation: Seen,
}

/// Interval of lines if the output is no terminal.
const LINES_EVERY: Duration = Duration::from_secs(2);

/// Time after the end for reading pictures of earlier ticks.
const GRACE: Duration = Duration::from_millis(200);

/// Starts the server, shows and counts its pictures, and ends it.
pub(super) fn play(act: Act, args: &Args, documents: &Documents) -> Result<Played, Failed> {
    let cpu = crate::server::last_cpu()?;
    if args.format == Format::Text {
        print(format!(
            "\n{STRONG}{}{STRONG:#}\n{FAINT}on CPU {cpu}: oxorb {}{FAINT:#}\n",
            act.title(),
            command(act).join(" ")
        ))?;
    }
    let mut server = start(act, cpu, documents)?;
    let mut warning = Instrument::new(documents.warning);
    let mut navigation = Instrument::new(documents.navigation);
    let read = |warning: &mut Instrument, navigation: &mut Instrument| -> Done {
        while let Some(line) = server.line()? {
            let _ = warning.take(&line) || navigation.take(&line);
        }
        Ok(())
    };

    let patience = Instant::now() + PATIENCE;
    while !(warning.is_on() && navigation.is_on()) {
        if Instant::now() >= patience {
            return Err(because("a display of the server showed nothing in 20 s"));
        }
        std::thread::sleep(LOOK);
        read(&mut warning, &mut navigation)?;
    }

    let stolen_before = stolen(cpu);
    let begin = Instant::now();
    let from = monotonic();
    let length = Duration::from_secs(args.seconds.into());
    let mut view = View::new(args);
    while begin.elapsed() < length {
        std::thread::sleep(LOOK);
        read(&mut warning, &mut navigation)?;
        view.show(begin, from, [&warning, &navigation])?;
    }
    let to = monotonic();
    std::thread::sleep(GRACE);
    read(&mut warning, &mut navigation)?;
    view.live.erase()?;
    let stolen = stolen(cpu).zip(stolen_before).map(|(after, before)| after.saturating_sub(before));
    let real_time_threads = server::real_time_threads(server.id());
    server.stop();
    let has_resources = act == Act::RealTime;
    let mut played = Played {
        real_time_threads,
        stolen_ms: stolen.map(|stolen| stolen.as_millis() as u64),
        warning: warning.seen(from, to, has_resources),
        navigation: navigation.seen(from, to, has_resources),
    };
    played.judge_proof();
    Ok(played)
}

impl Played {
    /// Withdraws the proofs if the act did not meet the assumptions of the check: threads have the declared priorities,
    /// and nothing else takes the processor from them. The warning display, whose work is as planned, shows whether
    /// that was so.
    pub(super) fn judge_proof(&mut self) {
        if self.real_time_threads == 0 || !self.warning.is_within_bound() {
            self.warning.proved_ns = None;
            self.navigation.proved_ns = None;
        }
    }
}

/// Returns the command line for display.
fn command(act: Act) -> Vec<&'static str> {
    let mut line = vec!["demo-avionics", "--plan", "with-warning.toml"];
    if act == Act::RealTime {
        line.extend(["--rt", "with-warning.rt.toml"]);
    }
    line.extend(["--node", "cockpit", "--process", "main"]);
    line
}

fn start(act: Act, cpu: usize, documents: &Documents) -> Result<Process, Failed> {
    let (plan, resources) = (documents.plan(), documents.resources());
    let text = |path: &std::path::Path| {
        let path = path.to_str().map(str::to_owned);
        path.ok_or_else(|| {
            because("the name of the folder for temporary files is not UTF-8; set TMPDIR")
        })
    };
    let (cpu, plan, resources) = (cpu.to_string(), text(&plan)?, text(&resources)?);
    let line = command(act).into_iter().map(|word| match word {
        "with-warning.toml" => plan.as_str(),
        "with-warning.rt.toml" => resources.as_str(),
        word => word,
    });
    let mut line: Vec<&str> = line.collect();
    line.splice(1..1, ["--cpu", cpu.as_str()]);
    Process::start("the server", &line)
}

/// View of an act while it runs.
struct View {
    is_live: bool,
    is_silent: bool,
    live: Live,
    seconds: u32,
    shown: Instant,
}

impl View {
    fn new(args: &Args) -> View {
        View {
            is_live: Live::is_possible(),
            is_silent: args.format == Format::Json,
            live: Live::default(),
            seconds: args.seconds,
            shown: Instant::now(),
        }
    }

    fn show(&mut self, begin: Instant, from: u64, instruments: [&Instrument; 2]) -> Done {
        let every = if self.is_live { REFRESH } else { LINES_EVERY };
        if self.is_silent || self.shown.elapsed() < every {
            return Ok(());
        }
        self.shown = Instant::now();
        let now = monotonic();
        let mut lines: Vec<String> = instruments.iter().map(|one| one.line(from, now)).collect();
        if self.is_live {
            lines.insert(0, progress(begin.elapsed().as_secs_f64(), self.seconds));
            lines.push("each mark is a tick: . in time, ! late, x not shown".to_owned());
            return self.live.draw(lines);
        }
        print(lines.join("\n") + "\n")
    }
}

/// Returns the monotonic clock in nanoseconds, of which the server's ticks are multiples.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as u64
}
