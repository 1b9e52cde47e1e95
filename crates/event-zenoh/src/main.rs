//! `oxorb-federate`: serves an event channel that shares its topics with others over zenoh.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos};
use oxorb_event::{ChannelOptions, EventChannel, INITIAL_NAME, in_order};
use oxorb_event_zenoh::{
    Federation, FederationOptions, FederationStatistics, Mode, Node, Priorities, WhenCongested,
    ZenohGateway,
};
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Serve an event channel that shares its topics with channels on other hosts, over zenoh
#[derive(Parser)]
#[command(
    version,
    after_help = "Suppliers and consumers connect to the channel as to any other channel, at \
    corbaloc::HOST:PORT/EventService. Hosts find each other by --connect or --scout. A router forwards events between \
    other hosts.\n\nExample, on two hosts:\n  oxorb-federate --port 2811 --mode router --listen tcp/0.0.0.0:7447\n  \
    oxorb-federate --port 2811 --connect tcp/north:7447\n  oxorb event pub --at corbaloc::localhost:2811/EventService \
    --type 17 0.75"
)]
struct Args {
    /// Address that the channel listens at
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port that the channel listens at. 0: the system chooses
    #[arg(long, default_value_t = 2811)]
    port: u16,
    /// Number of threads that deliver to consumers
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: u16,
    /// Mode of zenoh on this host: router, peer or client
    #[arg(long, default_value = "peer")]
    mode: Mode,
    /// Endpoint to listen at for other hosts, such as tcp/0.0.0.0:7447; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    listen: Vec<String>,
    /// Endpoint of another host, such as tcp/north:7447; may be repeated
    #[arg(long, value_name = "ENDPOINT")]
    connect: Vec<String>,
    /// Find other hosts of the local network by multicast
    #[arg(long)]
    scout: bool,
    /// First part of the names of topics: only channels with the same prefix share topics
    #[arg(long, default_value = "oxorb/events")]
    prefix: String,
    /// Priorities of zenoh by type of event, such as '17@real-time 18@background *@data'
    #[arg(long, default_value = "*@data", value_parser = Priorities::by_type)]
    priorities: Priorities,
    /// Wait for queue space instead of dropping events when zenoh is congested
    #[arg(long)]
    wait: bool,
    /// Maximum number of topics of which the last event is kept for channels that join later
    #[arg(long, value_name = "TOPICS", default_value_t = 0)]
    latest: usize,
    /// Output format; JSON writes one line for each change, and one at the end
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

/// Interval at which the number of neighbours is checked.
const LOOK: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oxorb-federate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let listen = format!("iiop://{}:{}", args.host, args.port);
    let orb = in_order(Orb::builder()).listen(&listen).build()?;
    let plan = Plan::pool(args.threads.into());
    let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default())?;
    let federation = Federation::join(&Node {
        mode: args.mode,
        listen: args.listen.clone(),
        connect: args.connect.clone(),
        scouting: args.scout,
    })?;
    // Handle signals only after joining: `join` may wait for a router, and until then a signal should end the process.
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let options = FederationOptions {
        prefix: args.prefix.clone(),
        priorities: args.priorities.clone(),
        when_congested: match args.wait {
            true => WhenCongested::Wait,
            false => WhenCongested::Drop,
        },
        latest: args.latest,
        ..FederationOptions::default()
    };
    let gateway = ZenohGateway::start(&channel, &federation, options)?;
    let served = channel.serve(&orb, INITIAL_NAME)?;
    let json = args.format == "json";
    let reference = served.reference().to_ior();
    match json {
        true => println!("{}", json!({ "event": "serving", "reference": reference })),
        false => println!("serving {reference}"),
    }
    let mut neighbours = 0;
    while signals.pending().next().is_none() {
        let now = federation.neighbours();
        if now != neighbours {
            neighbours = now;
            match json {
                true => println!("{}", json!({ "event": "neighbours", "count": now })),
                false => println!("connected to {now} hosts"),
            }
        }
        std::thread::sleep(LOOK);
    }
    let seen = gateway.statistics();
    drop(gateway);
    orb.shutdown(true)?;
    summary(json, &seen);
    Ok(())
}

fn summary(json: bool, seen: &FederationStatistics) {
    let FederationStatistics { sent, received, lost, ended, failed, repeated, malformed, .. } =
        seen;
    let dropped = seen.sending.dropped_in_all() + seen.receiving.dropped_in_all();
    match json {
        true => println!(
            "{}",
            json!({
                "event": "ended", "sent": sent, "received": received, "lost": lost, "no_ttl": ended,
                "failed": failed, "repeated": repeated, "malformed": malformed, "dropped": dropped,
            })
        ),
        false => println!(
            "sent {sent} events ({ended} had no ttl left, {failed} failed); received {received} ({lost} lost in \
             transit, {repeated} repeated, {malformed} malformed); {dropped} dropped from full queues"
        ),
    }
}
