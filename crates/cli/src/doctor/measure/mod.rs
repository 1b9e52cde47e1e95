//! `oxorb doctor --measure`: times of wake-ups, context switches and round trips.

mod dispatch;
mod load;
mod plot;
mod report;
mod switching;
mod trips;
mod wakeups;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(super) use report::Measured;
pub(super) use trips::answer;

use super::hold::Ends;
use load::Load;
use oxorb_terminal::duration;
use oxorb_terminal::output::{Failed, Format, because};
use report::Overheads;

/// Stages of the measurement in order, with their shares of the time in percent.
const STAGES: [(&str, u32); 4] =
    [("wake-ups", 40), ("context switches", 10), ("queues", 5), ("round trips", 45)];

/// Unit of the duration of the measurement.
const SECOND: Duration = Duration::from_secs(1);

/// Arguments of `--measure`.
#[derive(clap::Args)]
pub(super) struct MeasureArgs {
    /// Measure wake-ups of threads at each priority, context switches, and round trips
    #[arg(long)]
    measure: bool,
    /// Duration of the measurement, in whole seconds. For example 5s; a bare number is seconds
    #[arg(long, alias = "seconds", value_name = duration::VALUE_NAME, default_value = "12s", value_parser = duration::seconds().at_least(SECOND).at_most(3600 * SECOND).in_steps_of(SECOND))]
    duration: Duration,
    /// Native priorities of the lanes whose wake-ups are measured; 0: SCHED_OTHER
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [0, 10, 50, 90], value_parser = clap::value_parser!(i32).range(0..=99))]
    priorities: Vec<i32>,
    /// Measure without load on processors and lanes
    #[arg(long, requires = "measure")]
    idle: bool,
    /// Measure round trips to the address of this network interface, too
    #[arg(long, value_name = "NAME", requires = "measure")]
    interface: Option<String>,
    /// Measure round trips also to the host on which `oxorb doctor --answer` printed the reference IOR
    #[arg(long, value_name = "IOR", requires = "measure")]
    to: Option<String>,
    /// Answer the round trips of other hosts (--to) at this endpoint, until a signal arrives
    #[arg(long, value_name = "ENDPOINT", num_args = 0..=1, default_missing_value = "iiop://:0", conflicts_with = "measure")]
    pub(super) answer: Option<String>,
    /// Draw the wake-ups into this SVG file
    #[arg(long, value_name = "FILE", requires = "measure")]
    plot: Option<PathBuf>,
}

impl MeasureArgs {
    pub(super) fn is_asked(&self) -> bool {
        self.measure
    }

    /// Measures for the requested time, or until a signal.
    pub(super) fn run(&self, ends: &Ends, format: Format) -> Result<Measured, Failed> {
        let stage = AtomicUsize::new(0);
        let mut progress = Progress::new(format, self.duration);
        let measured = std::thread::scope(|scope| {
            let work = scope.spawn(|| self.stages(ends, &stage));
            while !work.is_finished() {
                progress.show(STAGES[stage.load(Ordering::Relaxed)].0);
                std::thread::sleep(Duration::from_millis(50));
            }
            work.join()
        });
        progress.end();
        let measured = measured.map_err(|_| because("measuring failed"))??;
        if ends.came() {
            return Err(because("a signal ended the measurement"));
        }
        if let Some(file) = &self.plot {
            std::fs::write(file, plot::draw(&measured.wakeups))
                .map_err(|error| because(format!("{}: {error}", file.display())))?;
        }
        Ok(measured)
    }

    fn stages(&self, ends: &Ends, stage: &AtomicUsize) -> Result<Measured, Failed> {
        let share = |at: usize| self.duration * STAGES[at].1 / 100;
        let mut priorities = self.priorities.clone();
        priorities.sort_unstable();
        priorities.dedup();
        let places = trips::places(self.interface.as_deref(), self.to.as_deref())?;

        let load = || (!self.idle).then(Load::begin);
        let loaded = load();
        let threads = loaded.as_ref().map_or(0, Load::threads);
        let wakeups = wakeups::measure(&priorities, share(0), ends)?;
        drop(loaded);
        stage.store(1, Ordering::Relaxed);
        let switching = switching::measure(share(1), ends);
        stage.store(2, Ordering::Relaxed);
        let dispatch = dispatch::measure(share(2), ends);
        stage.store(3, Ordering::Relaxed);
        let each = share(3) / u32::try_from(places.len()).unwrap_or(1);
        let mut trips = Vec::new();
        for place in places {
            trips.push(place.measure(each, self.idle, ends)?);
        }
        Ok(Measured {
            seconds: self.duration.as_secs(),
            load: threads,
            overheads: Overheads::of(&switching, &dispatch),
            wakeups,
            switching,
            dispatch,
            trips,
        })
    }
}

/// Progress bar on the terminal.
struct Progress {
    shown: bool,
    begin: Instant,
    time: Duration,
}

impl Progress {
    fn new(format: Format, time: Duration) -> Progress {
        Progress {
            shown: format == Format::Text && std::io::stderr().is_terminal(),
            begin: Instant::now(),
            time,
        }
    }

    fn show(&self, what: &str) {
        const WIDTH: usize = 40;
        if !self.shown {
            return;
        }
        let passed = self.begin.elapsed().as_secs_f64();
        let seconds = self.time.as_secs_f64();
        let done = ((passed / seconds).min(1.0) * WIDTH as f64) as usize;
        let (full, empty) = ("#".repeat(done), "-".repeat(WIDTH - done));
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "\r[{full}{empty}] {passed:.0} of {seconds:.0} s: {what}\x1b[K");
        let _ = out.flush();
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
