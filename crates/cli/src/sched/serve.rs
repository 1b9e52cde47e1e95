//! `oxorb sched serve`: a scheduling service.

use std::path::PathBuf;

use oxorb::values::Printable;
use oxorb::{Interface as _, Orb};
use oxorb_sched::Error;
use oxorb_sched::service::Service;
use oxorb_scheduler::rtec_scheduler::SchedulerRef;
use oxorb_scheduler::{INITIAL_NAME, Limits, Refusal, Scheduling, serve, serve_read_only};
use serde_json::json;

use super::how::How;
use super::load::{Loaded, is_wrong};
use crate::listening::{Access, Listening, urls};
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{
    Done, Failed, Format, at_file, because, print, print_line, without_folder,
};

/// Arguments of `oxorb sched serve`.
#[derive(clap::Args)]
#[command(
    after_help = "Clients of TAO's scheduling service can use the service without changes. It listens at \
    corbaloc::HOST:PORT/ScheduleService. At .../ScheduleService/application, applications can declare operations but \
    not compute schedules. The operations of the files are declared and scheduled at the start; clients add more. \
    docs/scheduling-service.md has the details.\n\nExamples:\n  \
    oxorb sched serve --port 4711 --state schedule.redb\n  \
    oxorb sched serve tasks.toml --strategy RMS --bind \\\n    \
    -ORBInitRef NameService=corbaloc::host:2809/NameService\n  oxorb sched serve tasks.toml --run-time"
)]
pub(crate) struct Args {
    /// Task sets as TOML, IDL files with @rt(...) before operations, and models in AADL (.aadl)
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
    /// Serve the run-time interface: the operations of the files form the table, which clients cannot change
    #[arg(long, requires = "files")]
    run_time: bool,
    /// File that stores the clients' declarations; created if missing. Declarations of FILES replace stored ones of the
    /// same names
    #[arg(long, value_name = "FILE", conflicts_with = "run_time")]
    state: Option<PathBuf>,
    /// Port to listen on; references outlive the process if the port is always the same; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Reject all requests that would change the schedule: clients can only query it
    #[arg(long)]
    read_only: bool,
    /// Bind the service in the Naming Service as NAME while it runs; if NAME is omitted, as ScheduleService, where
    /// TAO's clients look for it
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = INITIAL_NAME)]
    bind: Option<String>,
    /// Write the reference to FILE, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
    /// Maximum number of operations
    #[arg(long, value_name = "N", default_value_t = Limits::default().operations)]
    max_operations: usize,
    /// Maximum number of dependencies of all operations together
    #[arg(long, value_name = "N", default_value_t = Limits::default().dependencies)]
    max_dependencies: usize,
    /// Output format; JSON writes one line when serving starts, and one for each refusal
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Serves until the process ends.
pub(super) fn run(args: Args) -> Done {
    let loaded = match args.files.as_slice() {
        [] => Loaded::of(oxorb_sched::Repository::new()),
        files => args.how.load(files)?,
    };
    loaded.on_one_processor()?;
    if let Some(server) = loaded.extra.servers.first() {
        let (name, place) = &server.name;
        let why = "a scheduling service supports operations, but not servers of requests; analyse them with `oxorb \
                   sched analyse`";
        return Err(because(format!("{place}: {name}: {why}")));
    }
    if args.state.is_some() && !loaded.repository.sections().is_empty() {
        return Err(because(
            "critical sections cannot be stored in a state file; serve them without --state, or declare blocking \
             instead",
        ));
    }
    let scheduling = args.scheduling(&loaded)?;
    let builder = args.listening.at(Orb::builder(), args.port);
    let orb = with_args(builder.listen_late()).build()?;
    let format = args.format;
    scheduling.observe(move |operation, refusal| told(format, operation, refusal));
    let served = match args.read_only {
        true => serve_read_only(&orb, &scheduling)?,
        false => serve(&orb, &scheduling)?,
    };
    let access = Access::of(&orb, args.read_only || args.run_time);
    let ior = served.scheduler().to_ior();
    if let Some(file) = &args.ior_file {
        std::fs::write(file, &ior).map_err(|error| at_file(file, error))?;
    }
    if let Some(name) = &args.bind {
        bind(&orb, name, served.scheduler())?;
    }
    let urls = urls(served.scheduler().reference(), INITIAL_NAME);
    let (operations, scheduled) =
        scheduling.look(|service| (service.repository().len(), service.levels().is_ok()))?;
    let state = args.state.as_ref().map(|file| file.display().to_string());
    match args.format {
        Format::Text => {
            print(format_args!(
                "serving {operations} operations{} at {}\n",
                if scheduled { ", scheduled," } else { "" },
                urls.join(" ")
            ))?;
            if let Some(name) = &args.bind {
                print(format_args!("  bound in the Naming Service: {name}\n"))?;
            }
            access.print()?;
        }
        Format::Json => print_line(&json!({
            "event": "serving",
            "corbaloc": urls,
            "ior": ior,
            "face": if args.run_time { "run time" } else { "configuration" },
            "operations": operations,
            "scheduled": scheduled,
            "state": state,
            "bound": args.bind,
            "access": access.json(),
        }))?,
    }
    heed_signals(&orb)?;
    orb.run();
    Ok(())
}

impl Args {
    fn scheduling(&self, loaded: &Loaded) -> Result<Scheduling, Failed> {
        let (strategy, model) = (self.how.strategy(loaded), self.how.model(loaded));
        let mut service = Service::configuration(Box::new(strategy), Box::new(model));
        if self.run_time {
            service.merge(&loaded.repository)?;
            self.compute(&mut service, loaded)?;
            let table = Service::run_time(service.table()?)?;
            return Ok(Scheduling::with_limits(table, self.limits()));
        }
        let scheduling = match &self.state {
            Some(state) => Scheduling::open(state, service, self.limits())
                .map_err(|error| without_folder(state).unwrap_or_else(|| error.into()))?,
            None => Scheduling::with_limits(service, self.limits()),
        };
        if !loaded.repository.is_empty() {
            // A set that cannot be scheduled is no error, because later declarations of clients may make it
            // schedulable.
            let computed = scheduling.change(|service| {
                service.merge(&loaded.repository)?;
                Ok(self.compute(service, loaded))
            })?;
            if let Err(Failed::Because(why)) = computed {
                oxorb_terminal::note!("not scheduled: {why}");
            }
        }
        Ok(scheduling)
    }

    fn compute(&self, service: &mut Service, loaded: &Loaded) -> Done {
        let (least, most) = self.how.range(loaded);
        let anomalies = service.compute(least, most)?;
        for found in &anomalies {
            oxorb_terminal::note!("{}", loaded.told(found));
        }
        match anomalies.iter().find(|found| is_wrong(found)) {
            Some(found) if self.run_time => Err(because(loaded.told(found))),
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            operations: self.max_operations,
            dependencies: self.max_dependencies,
            ..Limits::default()
        }
    }
}

fn bind(orb: &Orb, name: &str, scheduler: &SchedulerRef) -> Done {
    let names = crate::name::usual(orb).map_err(|error| {
        because(format!(
            "{error}\nthe service cannot bind itself, because no name server was found. Specify one with -ORBInitRef \
             NameService=URL; `oxorb name serve` starts one"
        ))
    })?;
    Ok(names.register(orb, name, scheduler)?)
}

/// Reports a refusal; clients only receive an empty exception. Omits refusals of names that exist already: clients
/// first try to create a name, and look it up if it exists.
fn told(format: Format, operation: &str, refusal: &Refusal) {
    if matches!(refusal, Refusal::Scheduling(Error::DuplicateName(_))) {
        return;
    }
    match format {
        Format::Text => {
            oxorb_terminal::note!("refused {operation}: {}", Printable(&refusal.to_string()))
        }
        Format::Json => {
            let why = refusal.to_string();
            let _ = print_line(&json!({"event": "refused", "operation": operation, "why": why}));
        }
    }
}
