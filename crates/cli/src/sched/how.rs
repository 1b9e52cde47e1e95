//! Options of most verbs: the operations, and their scheduling.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use oxorb_sched::repository::LockingProtocol;
use oxorb_sched::simulate::LatePolicy;
use oxorb_sched::time::Nanos;
use oxorb_sched::{DispatchModel, OsPriorities, Overheads, Schedule, Strategy};

use super::load::{self, Loaded};
use super::times::nanos;
use super::{order, overheads, remote, set};
use oxorb_terminal::duration;
use oxorb_terminal::output::Failed;

/// Operations, and their strategy.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// Task sets as TOML, IDL files with @rt(...) before operations, and models in AADL (.aadl)
    #[arg(required_unless_present = "at", conflicts_with = "at", value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) at: remote::ServiceArgs,
    #[command(flatten)]
    pub(super) how: How,
}

/// Scheduling of the operations.
#[derive(clap::Args)]
pub(crate) struct How {
    /// Search DIR for included IDL files, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub(super) include: Vec<PathBuf>,
    /// Strategy; default: as the file declares, or else MUF
    #[arg(long, value_name = "NAME", value_parser = one_of(Strategy::ALL, |it| it.name))]
    pub(super) strategy: Option<Strategy>,
    /// Preemption; default: as the file declares, or else band
    #[arg(long, value_name = "NAME", value_parser = one_of(DispatchModel::ALL, DispatchModel::name))]
    pub(super) model: Option<DispatchModel>,
    /// Usable thread priorities, lowest and highest; default: as the file declares, or else 1 to 99
    #[arg(long, value_name = "MIN,MAX", value_parser = range)]
    pub(super) priorities: Option<(i32, i32)>,
    /// Time between two checks of the laxity of running jobs, with full preemption; default: as the file declares, or
    /// else 100us. For example 50us
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = nanos())]
    pub(super) step: Option<Nanos>,
    /// Time to take a request off its queue; default: as the file declares, or else 0s. For example 50us
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = nanos())]
    pub(super) dispatch: Option<Nanos>,
    /// Time of a context switch; default: as the file declares, or else 0s. For example 50us
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = nanos())]
    pub(super) switch: Option<Nanos>,
    /// File with the costs of dispatching, written by `oxorb doctor --measure --format json`; the options --dispatch
    /// and --switch override it
    #[arg(long, value_name = "FILE")]
    pub(super) overheads: Option<PathBuf>,
    /// Locking protocol for shared resources; default: as the file declares, or else PIP
    #[arg(long, value_name = "NAME", value_parser = one_of(LockingProtocol::ALL, LockingProtocol::name))]
    pub(super) locking: Option<LockingProtocol>,
    /// Replace the strategy's priorities by static priorities under which all deadlines are proved, if any exist
    /// (Audsley)
    #[arg(long)]
    pub(super) optimal: bool,
    /// Restrict the command to this node or link, if the files have several
    #[arg(long, value_name = "NAME")]
    pub(super) node: Option<String>,
}

/// Default thread priorities, lowest and highest.
pub(super) const RANGE: (i32, i32) = (1, 99);

pub(super) fn range(text: &str) -> Result<(i32, i32), String> {
    let parts = text
        .split_once(',')
        .and_then(|(least, most)| Some((least.trim().parse().ok()?, most.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("{text:?} is not a range; write for example 1,99"))
}

/// Parser for names from a closed set. Help and completions list the names; `parse` may accept other spellings, too.
#[derive(Clone)]
pub(super) struct OneOf<T> {
    names: Vec<&'static str>,
    parse: fn(&str) -> Result<T, String>,
}

/// Returns a parser for the names of all values of a type.
pub(super) fn one_of<T, const N: usize>(all: [T; N], name: fn(T) -> &'static str) -> OneOf<T>
where
    T: FromStr,
    T::Err: Display,
{
    let parse = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
    OneOf { names: all.map(name).to_vec(), parse }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().copied().map(PossibleValue::new)))
    }
}

impl Source {
    pub(super) fn load(&self) -> Result<Loaded, Failed> {
        match self.files.is_empty() {
            true => remote::fetch(&self.at),
            false => self.how.load(&self.files),
        }
    }
}

impl How {
    /// Reads files, and keeps only one node if requested.
    pub(super) fn load(&self, files: &[PathBuf]) -> Result<Loaded, Failed> {
        let mut loaded = load::load(files, &self.include)?;
        if let Some(protocol) = self.locking.or(loaded.asked.locking) {
            loaded.repository.set_protocol(protocol);
        }
        match &self.node {
            Some(node) => loaded.only(node),
            None => Ok(loaded),
        }
    }

    pub(super) fn strategy(&self, loaded: &Loaded) -> Strategy {
        self.strategy.or(loaded.asked.strategy).unwrap_or(Strategy::MUF)
    }

    pub(super) fn model(&self, loaded: &Loaded) -> DispatchModel {
        self.model.or(loaded.asked.model).unwrap_or_default()
    }

    pub(super) fn range(&self, loaded: &Loaded) -> (i32, i32) {
        let asked = self.priorities.or(loaded.asked.priorities);
        asked.unwrap_or(RANGE)
    }

    pub(super) fn schedule(&self, loaded: &Loaded) -> Result<Schedule, Failed> {
        self.schedule_under(loaded, self.strategy(loaded))
    }

    pub(super) fn schedule_under(
        &self,
        loaded: &Loaded,
        strategy: Strategy,
    ) -> Result<Schedule, Failed> {
        loaded.on_one_processor()?;
        let (least, most) = self.range(loaded);
        let priorities = OsPriorities::range(least, most)?;
        let model = self.model(loaded);
        let computed = Schedule::compute(&loaded.repository, &strategy, &model, &priorities);
        let mut schedule = computed.map_err(|error| match place_of(loaded, &error) {
            Some(place) => oxorb_terminal::output::because(format!("{place}: {error}")),
            None => error.into(),
        })?;
        self.charge(&mut schedule, &loaded.asked)?;
        loaded.extra.charge(&mut schedule)?;
        if self.optimal {
            let optimal = order::Optimal::of(&schedule, strategy)?;
            schedule = Schedule::compute(&loaded.repository, &optimal, &model, &priorities)?;
            self.charge(&mut schedule, &loaded.asked)?;
            loaded.extra.charge(&mut schedule)?;
        }
        Ok(schedule)
    }

    /// Sets the requested costs of dispatching in a schedule.
    pub(super) fn charge(&self, schedule: &mut Schedule, asked: &set::Asked) -> Result<(), Failed> {
        let usual = Overheads::default();
        let measured = match &self.overheads {
            Some(file) => overheads::read(file)?,
            None => overheads::Measured::default(),
        };
        let dispatch = self.dispatch.or(measured.dispatch).or(asked.dispatch);
        let switch = self.switch.or(measured.switch).or(asked.switch);
        let overheads = Overheads {
            step: self.step.or(asked.step).unwrap_or(usual.step),
            dispatch: dispatch.unwrap_or(usual.dispatch),
            switch: switch.unwrap_or(usual.switch),
        };
        overheads
            .check(&schedule.tasks)
            .map_err(|error| oxorb_terminal::output::because(error.to_string()))?;
        schedule.tasks.overheads = overheads;
        Ok(())
    }
}

/// Returns the place of the operation that an error concerns; for a cycle, that of its first operation.
pub(super) fn place_of<'l>(loaded: &'l Loaded, error: &oxorb_sched::Error) -> Option<&'l str> {
    use oxorb_sched::Error;
    loaded.place(match error {
        Error::Cycles(cycles) => cycles.first()?.0.first()?,
        Error::Overflow { operation, .. } => operation,
        _ => return None,
    })
}

/// Treatment of late jobs.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum LateJobs {
    /// Late jobs keep their position
    #[default]
    Keep,
    /// Late jobs run after all jobs that can be in time
    Demote,
    /// Late jobs are dropped unless they have begun
    Drop,
}

impl From<LateJobs> for LatePolicy {
    fn from(late: LateJobs) -> LatePolicy {
        match late {
            LateJobs::Keep => LatePolicy::Keep,
            LateJobs::Demote => LatePolicy::Demote,
            LateJobs::Drop => LatePolicy::Drop,
        }
    }
}
