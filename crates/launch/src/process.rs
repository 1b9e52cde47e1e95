//! The process of a locality, which managers start, or which runs stand-alone with a plan.

use std::error::Error;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use oxorb_core::lock::Mutex;
use oxorb_core::{Interface, Orb, ThreadPurpose};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::rtcad::ServerResources;
use oxorb_deploy::{Document, Format, Limits, Source, processes};
use oxorb_object::SystemExceptionKind;
use oxorb_poa::Poa;

use crate::directory::Directory;
use crate::idl::dance::LocalityManagerActivatorRef;
use crate::refusals::service_configuration;
use crate::{Implementations, LaunchError, Locality, part};

/// Maximum size in octets of a document.
const MOST_OCTETS: u64 = 16 << 20;

/// Interval at which a process checks whether its activator still exists, or whether references have changed.
const LOOK: Duration = Duration::from_millis(500);

/// Time limit for a remote object to answer a check.
const ANSWER: Duration = Duration::from_secs(2);

/// Number of consecutive unanswered checks after which the activator is considered dead.
const MOST_MISSED: u32 = 3;

/// Time limit for the instances to stop. After that, the process ends without waiting for them.
const STOP: Duration = Duration::from_secs(10);

/// Default of `--wait`: the time limit for the references of other processes to become available.
const WAIT: Duration = Duration::from_secs(60);

/// An ORB started for a locality.
pub struct Started {
    /// ORB of the process.
    pub orb: Orb,
    /// Root POA of the process.
    pub root: Poa,
    /// Arguments that are not for the ORB, without the name of the program.
    pub rest: Vec<String>,
}

/// Runs the process of a locality until it is shut down. `start` creates the ORB from arguments, the first of which is
/// the name of the program.
///
/// The facade's `run_locality` provides `start`.
pub fn run(
    implementations: Implementations,
    args: Vec<String>,
    start: impl FnOnce(Vec<String>) -> Result<Started, Box<dyn Error>>,
) -> ExitCode {
    match serve(implementations, args, start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Reason why a process ended.
struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn problem(what: impl fmt::Display) -> Problem {
    Problem(format!("error: {what}"))
}

/// Names of the arguments of a locality.
pub(crate) const ARGUMENTS: [&str; 8] = [
    "--activator",
    "--locality",
    "--node",
    "--plan",
    "--process",
    "--references",
    "--rt",
    "--wait",
];

/// Arguments of the process of a locality.
#[derive(Default)]
struct Arguments {
    locality: Option<String>,
    activator: Option<String>,
    plan: Option<PathBuf>,
    resources: Option<PathBuf>,
    references: Option<PathBuf>,
    node: Option<String>,
    process: Option<String>,
    wait: Option<Duration>,
    /// Name of the program, and arguments for other code.
    others: Vec<String>,
}

const USAGE: &str = "start it with --plan FILE --node NODE --process NAME [--rt FILE] [--references DIR] [--wait SECONDS], \
                     or let a node manager start it, with --locality UUID --activator IOR [--node NODE] [--process NAME]; \
                     -ORB options go with both";

impl Arguments {
    fn read(args: Vec<String>) -> Result<Arguments, Problem> {
        let mut read = Arguments::default();
        let mut args = args.into_iter();
        read.others.extend(args.next());
        while let Some(arg) = args.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value)),
                _ => (arg.clone(), None),
            };
            let mut text = || {
                let value = value.map(str::to_owned).or_else(|| args.next());
                value.ok_or_else(|| problem(format!("{name} needs a value; {USAGE}")))
            };
            match name.as_str() {
                "--locality" => read.locality = Some(text()?),
                "--activator" => read.activator = Some(text()?),
                "--plan" => read.plan = Some(text()?.into()),
                "--rt" => read.resources = Some(text()?.into()),
                "--references" => read.references = Some(text()?.into()),
                "--node" => read.node = Some(text()?),
                "--process" => read.process = Some(text()?),
                "--wait" => {
                    let text = text()?;
                    let seconds = text.parse().ok().filter(|seconds| *seconds <= 86_400);
                    let seconds = seconds.ok_or_else(|| {
                        problem(format!(
                            "--wait must be a number of seconds up to 86400, not {text:?}"
                        ))
                    })?;
                    read.wait = Some(Duration::from_secs(seconds));
                }
                _ => read.others.push(arg),
            }
        }
        Ok(read)
    }
}

fn serve(
    implementations: Implementations,
    args: Vec<String>,
    start: impl FnOnce(Vec<String>) -> Result<Started, Box<dyn Error>>,
) -> Result<(), Problem> {
    let mut arguments = Arguments::read(args)?;
    let others = std::mem::take(&mut arguments.others);
    let start = |args: Vec<String>| -> Result<Started, Problem> {
        let started =
            start(args).map_err(|error| problem(format!("the ORB was not started: {error}")))?;
        match started.rest.first() {
            None => Ok(started),
            Some(unknown) => {
                let _ = started.orb.shutdown(true);
                Err(problem(format!("unknown argument {unknown:?}; {USAGE}")))
            }
        }
    };
    match (&arguments.plan, &arguments.activator) {
        (Some(_), None) => alone(implementations, arguments, others, start),
        (None, Some(_)) => managed(implementations, arguments, others, start),
        _ => Err(problem(USAGE)),
    }
}

/// Runs the locality without managers.
fn alone(
    implementations: Implementations,
    mut arguments: Arguments,
    mut others: Vec<String>,
    start: impl FnOnce(Vec<String>) -> Result<Started, Problem>,
) -> Result<(), Problem> {
    let file = arguments.plan.clone().unwrap_or_default();
    let plan = read(&file)?.into_plan().map_err(|error| in_file(&file, &error))?;
    if arguments.resources.is_none() {
        let folder = file.parent().unwrap_or(Path::new(""));
        arguments.resources = plan.resources_file().map(|name| folder.join(name));
    }
    let resources = match &arguments.resources {
        Some(file) => {
            let resources = read(file)?.into_resources();
            Some(resources.map_err(|error| in_file(file, &error))?)
        }
        None => None,
    };
    let (part, node, process) = part_of(&plan, &arguments)?;
    others.extend(orb_arguments(resources.as_ref(), arguments.resources.as_deref())?);
    let explain = |error: LaunchError| {
        let source = match (error.finding.source, &arguments.resources) {
            (Source::Rtcad, Some(resources)) => resources,
            _ => &file,
        };
        in_file(source, &error)
    };

    let Started { orb, root, .. } = start(others)?;
    let locality = Locality::new(&orb, &root, implementations, &node, &process);
    let directory = arguments.references.as_ref().map(Directory::new);
    let directory = Arc::new(Mutex::new(directory));
    let end = end_with(&orb, &locality, {
        let directory = Arc::clone(&directory);
        move || {
            if let Some(directory) = directory.lock().as_mut() {
                directory.withdraw();
            }
        }
    });
    let launch = || -> Result<(), Problem> {
        locality.prepare(part.clone(), resources).map_err(explain)?;
        let provided = locality.install().map_err(explain)?;
        let references = match directory.lock().as_mut() {
            Some(directory) => {
                directory.publish(&provided).map_err(|error| {
                    let path = arguments.references.clone().unwrap_or_default();
                    problem(format!("references were not written to {}: {error}", path.display()))
                })?;
                let limit = arguments.wait.unwrap_or(WAIT);
                wait_for_others(&orb, directory, &part, limit, &end)?;
                directory.references(&part)
            }
            None => Default::default(),
        };
        locality.finish(&references, true).map_err(|error| {
            let hint = match arguments.references {
                None if error.finding.what.contains("in another process") => error.cure(
                    "specify a directory for references with --references, the same for all processes",
                ),
                _ => error,
            };
            explain(hint)
        })
    };
    if let Err(problem) = launch() {
        // Ignore the error: the launch has failed already. The shutdown hook stops the instances.
        let _ = orb.shutdown(true);
        return Err(problem);
    }
    // Ignore the error: standard output may be closed, which is no reason to end the instances.
    let _ = writeln!(std::io::stdout(), "{node} {process}: running");
    let follow = {
        let (orb, locality) = (orb.clone(), Arc::clone(&locality));
        move || follow_references(&orb, &locality, &directory, &part, &end)
    };
    begin(&orb, "oxorb-locality", follow)?;
    orb.run();
    Ok(())
}

/// Runs the locality under managers, and ends when the manager that started the process ends.
fn managed(
    implementations: Implementations,
    arguments: Arguments,
    others: Vec<String>,
    start: impl FnOnce(Vec<String>) -> Result<Started, Problem>,
) -> Result<(), Problem> {
    let Some((activator, uuid)) = arguments.activator.as_ref().zip(arguments.locality.as_ref())
    else {
        return Err(problem(USAGE));
    };
    let Started { orb, root, .. } = start(others)?;
    let node = arguments.node.as_deref().unwrap_or_default();
    let process = arguments.process.as_deref().unwrap_or(uuid);
    let locality = Locality::new(&orb, &root, implementations, node, process);
    let end = end_with(&orb, &locality, || ());
    let (lost, is_lost) = channel();
    let call = || -> Result<(), Problem> {
        let failed = |error: &dyn fmt::Display| {
            problem(format!("the activator of this process cannot be called: {error}"))
        };
        let activator = orb.string_to_object(activator).map_err(|error| failed(&error))?;
        let activator: LocalityManagerActivatorRef = activator.unchecked_narrow();
        let ending = orb.downgrade();
        let own = locality.serve(&root, move || {
            if let Some(orb) = ending.upgrade() {
                let _ = orb.shutdown(false);
            }
        });
        let own = own.map_err(problem)?;
        let own = own.into();
        activator.locality_manager_callback(Some(&own), uuid).map_err(|error| failed(&error))?;
        activator.configuration_complete(uuid).map_err(|error| failed(&error))?;
        let (watched, mended) = (orb.clone(), Arc::clone(&locality));
        let watch = move || {
            if let Err(why) = watch_activator(&activator, &mended, &end) {
                let _ = lost.send(why);
                let _ = watched.shutdown(false);
            }
        };
        begin(&orb, "oxorb-activator", watch)
    };
    if let Err(problem) = call() {
        let _ = orb.shutdown(true);
        return Err(problem);
    }
    orb.run();
    match is_lost.try_recv() {
        Ok(why) => Err(problem(format!(
            "the activator of this process no longer answers, so the process ended: {why}"
        ))),
        Err(_) => Ok(()),
    }
}

fn begin(orb: &Orb, name: &str, job: impl FnOnce() + Send + 'static) -> Result<(), Problem> {
    orb.start_thread(ThreadPurpose::Shutdown, name, job)
        .map_err(|error| problem(format!("thread {name} was not started: {error}")))
}

/// Makes the ORB's shutdown stop the instances, within a time limit. The returned receiver is disconnected when the
/// shutdown begins.
fn end_with(
    orb: &Orb,
    locality: &Arc<Locality>,
    first: impl FnOnce() + Send + 'static,
) -> Receiver<()> {
    let (ending, end) = channel();
    let locality = Arc::clone(locality);
    orb.before_shutdown(move |orb| {
        drop(ending);
        first();
        let (stopped, is_stopped) = channel::<()>();
        let watch = move || {
            if let Err(RecvTimeoutError::Timeout) = is_stopped.recv_timeout(STOP) {
                eprintln!(
                    "error: instances did not stop within {} s; the process ends without waiting for them",
                    STOP.as_secs()
                );
                std::process::exit(1);
            }
        };
        if let Err(error) = orb.start_thread(ThreadPurpose::Shutdown, "oxorb-stop", watch) {
            eprintln!("warning: stopping has no time limit: {error}");
        }
        if let Err(error) = locality.stop() {
            eprintln!("warning: {error}");
        }
        drop(stopped);
    });
    end
}

/// Waits for the interval. Returns `false` if the process is being ended.
fn go_on(end: &Receiver<()>, interval: Duration) -> bool {
    matches!(end.recv_timeout(interval), Err(RecvTimeoutError::Timeout))
}

/// Waits until the references to all used ports of other processes are known.
fn wait_for_others(
    orb: &Orb,
    directory: &mut Directory,
    plan: &Plan,
    limit: Duration,
    end: &Receiver<()>,
) -> Result<(), Problem> {
    let until = Instant::now().checked_add(limit);
    loop {
        directory.refresh(orb, plan);
        let missing = directory.missing(plan);
        if missing.is_empty() {
            return Ok(());
        }
        if until.is_some_and(|end| Instant::now() >= end) {
            return Err(problem(format!(
                "after {} s the reference of {} is missing; start the processes of these instances with the same \
                 --references",
                limit.as_secs(),
                missing.join(", ")
            )));
        }
        if !go_on(end, LOOK / 10) {
            return Err(problem(
                "a signal ended the process before all other processes had started",
            ));
        }
    }
}

/// Reconnects to restarted processes, whose references have changed, and restores connections that ended without a
/// request.
fn follow_references(
    orb: &Orb,
    locality: &Locality,
    directory: &Mutex<Option<Directory>>,
    plan: &Plan,
    end: &Receiver<()>,
) {
    while go_on(end, LOOK) {
        let changed = match directory.lock().as_mut() {
            Some(directory) => {
                let is_new = directory.refresh(orb, plan);
                is_new.then(|| directory.references(plan))
            }
            None => None,
        };
        let done = match changed {
            Some(references) => locality.finish(&references, true),
            None => locality.mend(ANSWER).map(drop),
        };
        if let Err(error) = done {
            eprintln!("warning: {error}");
        }
    }
}

/// Returns when the process is being ended, or when the activator no longer exists. Until then, restores connections
/// that ended without a request.
fn watch_activator(
    activator: &LocalityManagerActivatorRef,
    locality: &Locality,
    end: &Receiver<()>,
) -> Result<(), String> {
    let activator = activator.with_timeout(ANSWER);
    let mut missed = 0;
    while go_on(end, LOOK) {
        if let Err(error) = locality.mend(ANSWER) {
            eprintln!("warning: {error}");
        }
        match activator.non_existent() {
            Ok(false) => missed = 0,
            Ok(true) => return Err("it no longer exists".to_owned()),
            Err(exception) => {
                missed += 1;
                let gone = exception.kind == SystemExceptionKind::ObjectNotExist;
                if gone || missed >= MOST_MISSED {
                    return Err(exception.to_string());
                }
            }
        }
    }
    Ok(())
}

/// Returns the part of the plan that the arguments select, with the names of its node and process.
fn part_of(plan: &Plan, arguments: &Arguments) -> Result<(Plan, String, String), Problem> {
    let all = processes(plan);
    let is_meant =
        |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    let meant: Vec<_> = all
        .iter()
        .filter(|one| {
            is_meant(&arguments.node, &one.node) && is_meant(&arguments.process, &one.name)
        })
        .collect();
    match meant.as_slice() {
        [one] => Ok((part(plan, one), one.node.clone(), one.name.clone())),
        found => {
            let known = all.iter().map(|one| format!("--node {} --process {}", one.node, one.name));
            let known: Vec<String> = known.take(20).collect();
            let what = match found {
                [] => "the plan has no such process",
                _ => "the plan has several processes",
            };
            let known = match known.as_slice() {
                [] => "there is no process, because no instance is on a node".to_owned(),
                known => known.join(", "),
            };
            Err(problem(format!("{what}; it has {known}")))
        }
    }
}

/// Returns the arguments for the ORB that the real-time resources contain.
fn orb_arguments(
    resources: Option<&ServerResources>,
    file: Option<&Path>,
) -> Result<Vec<String>, Problem> {
    let Some(resources) = resources else {
        return Ok(Vec::new());
    };
    if let Some(services) = &resources.svcconf {
        let refused = service_configuration(&services.uri, services.place);
        return Err(in_file(file.unwrap_or(Path::new("")), &refused));
    }
    let Some(line) = &resources.cmdline else {
        return Ok(Vec::new());
    };
    // Make the same check as managers, so that a plan runs in the same way with and without them. This process may also
    // run as root.
    match crate::check_arguments(&line.arg) {
        Ok(()) => Ok(line.arg.clone()),
        Err(reason) => {
            let file = file.unwrap_or(Path::new(""));
            Err(Problem(format!("{}:{}: error: {reason}", file.display(), line.place)))
        }
    }
}

fn read(file: &Path) -> Result<Document, Problem> {
    let failed = |why: String| problem(format!("{} cannot be read: {why}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| failed(error.to_string()))?.len();
    if size > MOST_OCTETS {
        return Err(failed(format!("it has more than {MOST_OCTETS} octets, the limit")));
    }
    let octets = std::fs::read(file).map_err(|error| failed(error.to_string()))?;
    let format = Format::of_file(&file.to_string_lossy()).ok_or_else(|| {
        failed("its name must end with .toml (TOML), or with .cdp, .csr or .xml (XML)".to_owned())
    })?;
    let read = Document::read_octets(&octets, format, &Limits::default());
    read.map_err(|error| in_file(file, &error))
}

/// Prefixes each line of an error message with the name of the file.
fn in_file(file: &Path, what: &dyn fmt::Display) -> Problem {
    let what = what.to_string();
    let lines =
        what.lines().map(|line| match line.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("{}:{line}", file.display()),
            false => format!("{}: {line}", file.display()),
        });
    Problem(lines.collect::<Vec<_>>().join("\n"))
}
