//! `oxorb event serve`: event channels.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use clap::ValueEnum;
use oxorb::values::Printable;
use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos, WhenFull};
use oxorb_event::{
    ChannelOptions, Control, EventChannel, INITIAL_NAME, Limits, Notice, Served, in_order,
};
use oxorb_naming::Names;
use oxorb_notify::Settings;
use oxorb_notify::etcl::Dialect;
use serde_json::json;

use super::channel::end_of_process;
use super::channels::{Channels, Told, WhenDestroyed};
use super::notify::Notify;
use super::schedule::{Scheduled, Service};
use super::statistics::idl::EventStatisticsRef;
use super::statistics::{OBJECT, Statistics};
use crate::listening::{Access, Listening, urls};
use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, Format, at_file, because, print, print_line};

/// Arguments of `oxorb event serve`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("Suppliers and consumers of TAO's real-time event service can use the channels without \
    changes: each channel is an object RtecEventChannelAdmin::EventChannel, at corbaloc::HOST:PORT/NAME. `oxorb event \
    ls` and `stat` show who is connected.\n\n\
    Examples:\n  oxorb event serve --port 2811\n  oxorb event serve --queue 64 --when-full keep-latest\n  \
    oxorb event serve --port 2811 --notify=EventChannel\n  oxorb event serve --scheduler \
    corbaloc::host:2813/ScheduleService --beyond-rate refuse\n  oxorb event serve --port 2811 --notify=EventChannel \
    --store /var/lib/oxorb/events\n  oxorb event serve --bind -ORBInitRef \
    NameService=corbaloc::host:2809/NameService\n  oxorb event serve --host 0.0.0.0 --port 2811 sensors alarms \
    -ORBAccess 'allow 10.0.0.0/8'")
)]
pub(crate) struct Args {
    /// Names of the channels
    #[arg(value_name = "NAME", default_values_t = [INITIAL_NAME.to_owned()])]
    names: Vec<String>,
    /// Serve the OMG's Event and Notification Services, too: a channel of both under NAME, and the factory of channels
    /// under NotificationService
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "NotifyChannel")]
    notify: Option<String>,
    /// Directory in which the Notification Service stores persistent channels, including the channel NAME of --notify,
    /// connections and events; created if missing. No accepted event is lost, not even by kill -9. References survive a
    /// restart only with a --port other than 0
    #[arg(long, value_name = "DIR", requires = "notify")]
    store: Option<PathBuf>,
    /// Syntax of the Notification Service's filters
    #[arg(long, value_enum, default_value_t, requires = "notify")]
    filters: Filters,
    /// Port to listen on; references outlive the process if the port is always the same; 0 lets the system choose. The
    /// other commands look for a channel at port 2811 of this machine
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Bind each channel in the Naming Service under its name, until the server ends or a client destroys the channel
    #[arg(long)]
    bind: bool,
    /// Write the reference of the first channel to FILE, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
    /// Maximum number of consumers of each channel, connected or connecting; further ones get IMP_LIMIT
    #[arg(long, value_name = "N", default_value_t = Limits::default().consumers)]
    max_consumers: usize,
    /// Maximum number of suppliers of each channel, connected or connecting; further ones get IMP_LIMIT
    #[arg(long, value_name = "N", default_value_t = Limits::default().suppliers)]
    max_suppliers: usize,
    /// Maximum percentage, from 1 to 100, that one client (address or user) may use of each of these limits: on
    /// consumers, suppliers and observers; and on channels, admins, proxies, filters and waiting pulls of the
    /// Notification Service
    #[arg(long, value_name = "PERCENT", default_value_t = Limits::default().client_share, value_parser = clap::value_parser!(u8).range(1..=100))]
    client_share: u8,
    /// Maximum size in octets of the payloads of one push; larger pushes are dropped and counted as refused
    #[arg(long, value_name = "OCTETS", default_value_t = Limits::default().octets)]
    max_octets: usize,
    /// Time limit of a call to a consumer. For example 300ms; a bare number is milliseconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "1s", value_parser = duration::milliseconds().positive())]
    call_timeout: Duration,
    /// Time between two rounds of pings to consumers and suppliers; 0: no pings. For example 5s; a bare number is
    /// seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "5s", value_parser = duration::seconds())]
    ping: Duration,
    /// Time without an event after which suppliers that cannot be pinged (they connected with a nil reference) are
    /// disconnected; 0: never. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "0s", value_parser = duration::seconds())]
    supplier_idle: Duration,
    /// Number of threads that deliver events, from 0 to 64. Each consumer has a queue, so that no consumer delays
    /// another. 0: no queues; the supplier's thread delivers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=64))]
    threads: u16,
    /// Maximum number of events that wait for a consumer, from 1 to 1000000
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue: u32,
    /// Policy when a queue is full; drops are counted
    #[arg(long, value_enum, default_value_t)]
    when_full: Full,
    /// Time for which a supplier waits for space in a queue before the policy applies. For example 300ms; a bare number
    /// is milliseconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "0s", value_parser = duration::milliseconds())]
    wait: Duration,
    #[command(flatten)]
    scheduled: Scheduled,
    /// Let a consumer or supplier that connects again replace its previous connection
    #[arg(long)]
    reconnect: bool,
    /// Treatment of channels that clients destroy
    #[arg(long, value_enum, default_value_t)]
    when_destroyed: WhenDestroyed,
    /// Write the times of receipt and delivery into the header of each event
    #[arg(long)]
    timestamps: bool,
    /// Do not measure the delivery times that `oxorb event stat` shows: saves two clock reads per event and 5 KiB per
    /// consumer
    #[arg(long)]
    no_latency: bool,
    /// Output format; JSON writes one line when serving starts, one for each disconnected peer, and one for each
    /// destroyed channel
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Policy of a full queue.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Full {
    /// Drop the oldest event
    #[default]
    DropOldest,
    /// Drop the new event
    DropNewest,
    /// Drop the least urgent event
    DropLeastUrgent,
    /// Keep only the latest event of each source, even if the queue has space
    KeepLatest,
}

impl From<Full> for WhenFull {
    fn from(full: Full) -> WhenFull {
        match full {
            Full::DropOldest => WhenFull::DropOldest,
            Full::DropNewest => WhenFull::DropNewest,
            Full::DropLeastUrgent => WhenFull::DropLeastUrgent,
            Full::KeepLatest => WhenFull::KeepLatest,
        }
    }
}

/// Syntax of filter constraints.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Filters {
    /// Syntax of the specification
    #[default]
    Standard,
    /// TAO's syntax, including its deviations from the specification
    Tao,
}

impl From<Filters> for Dialect {
    fn from(filters: Filters) -> Dialect {
        match filters {
            Filters::Standard => Dialect::Standard,
            Filters::Tao => Dialect::Tao,
        }
    }
}

/// Serves until the process ends, or clients have destroyed all channels.
pub(super) fn run(args: &Args) -> Done {
    let builder = args.listening.at(in_order(Orb::builder()), args.port);
    // Prefer UTF-8, so that events in any character set reach each consumer that supports it. -ORBPreferUtf8 0
    // overrides this.
    let orb = with_args(builder.listen_late().prefer_utf8(true)).build()?;
    let channels = Arc::<Channels>::default();
    let service = args.scheduled.service(&orb)?;
    let (tell, destroyed) = channel();
    for name in &args.names {
        channels.put(name, args.serve(&orb, name, service.as_ref(), &tell)?);
    }
    let notify = args.serve_notify(&orb)?;
    let statistics: EventStatisticsRef = orb.root_poa().activate(Statistics {
        channels: Arc::clone(&channels),
        notify: notify.as_ref().map(Notify::service),
    })?;
    orb.bind(OBJECT, &statistics);
    orb.root_poa().manager().activate()?;
    let served = channels.all();
    if let Some(file) = &args.ior_file {
        let ior = served[0].1.reference().to_ior();
        std::fs::write(file, ior).map_err(|error| at_file(file, error))?;
    }
    let names = args.bind.then(|| bind(&orb, &served, notify.as_ref())).transpose()?;
    orb.reload_security_on_signal()?;
    ready(args, &orb, &served, notify.as_ref())?;
    drop(served);
    if let Some(notify) = &notify {
        let (format, of) = (args.format, notify.name.clone());
        notify.log(move |what| say(format, &of, what));
        notify.watch(&orb, args.format)?;
    }
    let (end, ending, all) = (end_of_process()?, orb.clone(), Arc::clone(&channels));
    std::thread::spawn(move || {
        // Nothing is ever sent on this channel: `recv` fails when the process is asked to end.
        let _ = end.recv();
        // Notify suppliers and consumers of the end before their connections are closed.
        all.destroy();
        let _ = ending.shutdown(true);
    });
    let (running, ended) = (orb.clone(), tell.clone());
    std::thread::spawn(move || {
        running.run();
        let _ = ended.send(Told::Ended);
    });
    while let Ok(Told::Destroyed(name)) = destroyed.recv() {
        let goes_on = match args.when_destroyed {
            WhenDestroyed::Renew => {
                args.serve(&orb, &name, service.as_ref(), &tell).map(|served| {
                    channels.put(&name, served);
                    say(args.format, &name, "a new channel replaces it (--when-destroyed renew)");
                })
            }
            WhenDestroyed::End => {
                if let Some(served) = channels.take(&name) {
                    withdraw(args.format, &orb, &name, &served, names.as_ref());
                }
                match channels.all().is_empty() && notify.is_none() {
                    true => Err(because(ALL_DESTROYED)),
                    false => Ok(()),
                }
            }
        };
        if goes_on.is_err() {
            channels.destroy();
            orb.shutdown(true)?;
            return goes_on;
        }
    }
    Ok(())
}

/// Message for a server that ends because its clients destroyed all channels.
const ALL_DESTROYED: &str = "clients destroyed every channel, so there is nothing left to serve; --when-destroyed \
    renew replaces each destroyed channel by a new one";

/// Removes every name and reference by which clients find a destroyed channel.
fn withdraw(format: Format, orb: &Orb, name: &str, served: &Served, names: Option<&Names>) {
    orb.forget_initial_reference(name);
    orb.root_poa().unbind_name(name);
    let withdrawn = names.map_or(Ok(()), |names| names.withdraw(name, served.reference()));
    match withdrawn {
        Ok(()) => say(format, name, "its name is withdrawn (--when-destroyed end)"),
        Err(why) => say(format, name, &format!("its name stays in the Naming Service: {why}")),
    }
}

impl Args {
    /// Serves a new channel under a name.
    fn serve(
        &self,
        orb: &Orb,
        name: &str,
        service: Option<&Service<'_>>,
        tell: &Sender<Told>,
    ) -> Result<Served, Failed> {
        let channel = self.channel(service)?;
        let (format, of, tell) = (self.format, name.to_owned(), tell.clone());
        channel.log(move |notice| {
            say(format, &of, &notice.to_string());
            if *notice == Notice::Destroyed {
                let _ = tell.send(Told::Destroyed(of.clone()));
            }
        });
        if let Some(service) = service {
            service.apply(&channel, self.call_timeout);
        }
        channel.serve(orb, name).map_err(|why| because(format!("{name}: {why}")))
    }

    fn channel(&self, service: Option<&Service<'_>>) -> Result<EventChannel, Failed> {
        let scheduled = service.map_or(Ok(None), Service::plan)?;
        if self.threads == 0 && scheduled.is_none() {
            return Ok(EventChannel::new(self.options()));
        }
        let queue = Qos {
            events: self.queue as usize,
            when_full: self.when_full.into(),
            wait: self.wait,
            ..Qos::default()
        };
        let plan = scheduled.unwrap_or_else(|| Plan::pool(usize::from(self.threads)));
        Ok(EventChannel::queued(self.options(), plan, queue)?)
    }

    /// Starts the Notification Service if requested.
    fn serve_notify(&self, orb: &Orb) -> Result<Option<Notify>, Failed> {
        let Some(name) = &self.notify else {
            return Ok(None);
        };
        if self.names.contains(name) {
            return Err(because(format!(
                "{name} is already the name of a real-time channel: choose another name with --notify=NAME"
            )));
        }
        let settings = Settings {
            reconnect: self.reconnect,
            call_timeout: self.call_timeout,
            dialect: self.filters.into(),
            limits: oxorb_notify::Limits {
                client_share: self.client_share,
                ..oxorb_notify::Limits::default()
            },
            ..Settings::default()
        };
        Notify::start(orb, name, self.store.as_deref(), settings).map(Some)
    }

    fn options(&self) -> ChannelOptions {
        ChannelOptions {
            consumer_reconnect: self.reconnect,
            supplier_reconnect: self.reconnect,
            timestamps: self.timestamps,
            latency: !self.no_latency,
            call_timeout: self.call_timeout,
            control: Control {
                period: (!self.ping.is_zero()).then_some(self.ping),
                ..Control::default()
            },
            supplier_idle: (!self.supplier_idle.is_zero()).then_some(self.supplier_idle),
            limits: Limits {
                consumers: self.max_consumers,
                suppliers: self.max_suppliers,
                octets: self.max_octets,
                client_share: self.client_share,
                ..Limits::default()
            },
            ..ChannelOptions::default()
        }
    }
}

fn bind(orb: &Orb, served: &[(String, Served)], notify: Option<&Notify>) -> Result<Names, Failed> {
    let names = crate::name::usual(orb).map_err(|error| {
        because(format!(
            "{error}\nthe channels cannot be bound, because no name server was found. Specify one with -ORBInitRef \
             NameService=URL; `oxorb name serve` starts one"
        ))
    })?;
    for (name, served) in served {
        names.register(orb, name.as_str(), served.reference())?;
    }
    if let Some(notify) = notify {
        names.register(orb, notify.name.as_str(), &notify.channel)?;
    }
    Ok(names)
}

fn ready(args: &Args, orb: &Orb, served: &[(String, Served)], notify: Option<&Notify>) -> Done {
    let access = Access::open(orb);
    match args.format {
        Format::Text => {
            for (name, served) in served {
                let urls = urls(served.reference().reference(), name);
                print(format_args!("serving events at {}\n", urls.join(" ")))?;
            }
            if let Some(notify) = notify {
                print(notify)?;
            }
            if args.bind {
                let names = served.iter().map(|(name, _)| name.as_str());
                let names = names.chain(notify.map(|notify| notify.name.as_str()));
                let names: Vec<&str> = names.collect();
                print(format_args!("  bound in the Naming Service: {}\n", names.join(" ")))?;
            }
            access.print()
        }
        Format::Json => {
            let notify = notify.map(Notify::json);
            let channels = served.iter().map(|(name, served)| {
                let reference = served.reference();
                json!({
                    "name": name,
                    "corbaloc": urls(reference.reference(), name),
                    "ior": reference.to_ior(),
                })
            });
            print_line(&json!({
                "event": "serving",
                "channels": channels.collect::<Vec<_>>(),
                "notify": notify,
                "bound": args.bind,
                "access": access.json(),
            }))
        }
    }
}

/// Reports an event of a channel, or of one of its consumers or suppliers.
fn say(format: Format, channel: &str, what: &str) {
    match format {
        Format::Text => oxorb_terminal::note!("{channel}: {}", Printable(what)),
        Format::Json => {
            let _ = print_line(&json!({"event": "notice", "channel": channel, "what": what}));
        }
    }
}
