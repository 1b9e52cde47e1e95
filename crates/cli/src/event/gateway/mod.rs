//! `oxorb event gateway`: passes events of one channel to another.

mod udp;

use std::time::Duration;

use oxorb::Orb;
use oxorb_event::gateway::{GatewayError, GatewayState, IiopGateway, IiopOptions, IiopStatistics};
use oxorb_event::in_order;
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use serde_json::json;

use super::channel::end_of_process;
use crate::listening::Listening;
use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{BAD, Done, Failed, Format, because, print, print_line};

/// Shortest time between two checks of a channel.
const SHORTEST: Duration = Duration::from_millis(100);

/// Longest time between two checks of a channel.
const LONGEST: Duration = Duration::from_secs(3600);

/// Arguments of `oxorb event gateway`.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = manual!("The gateway subscribes at the channel --from to the events for which consumers of the \
    channel --to have subscribed, and forwards each event as often as its ttl allows. While there are no such \
    consumers, the gateway is idle. Each channel may belong to any ORB. The gateway tries to reach a lost channel \
    until it is available again. It is an error if both are the same channel. Two gateways in opposite directions join \
    two channels. Both channels call the gateway, so it needs an address that they can reach: --host.\n\n\
    Example:\n  oxorb event gateway --from corbaloc::north:2811/EventService \\\n    \
    --to corbaloc::south:2811/EventService --host 10.0.0.7")
)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Option<Kind>,
    /// Source channel: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, value_name = "URL", required = true)]
    from: Option<String>,
    /// Destination channel
    #[arg(long, value_name = "URL", required = true)]
    to: Option<String>,
    /// Pass events on regardless of their ttl, and leave the ttl unchanged
    #[arg(long)]
    ignore_ttl: bool,
    /// Time between two checks that both channels exist. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "5s", value_parser = duration::seconds().at_least(SHORTEST).at_most(LONGEST))]
    period: Duration,
    /// Port to listen on; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Output format; JSON writes one line for each change of the connection (connected, idle, lost, waiting), and one
    /// at the end
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Kinds of gateways other than the one between channels.
#[derive(clap::Subcommand)]
enum Kind {
    /// Send events as datagrams to hosts or multicast groups, or receive them, as TAO's UDP gateways do
    Udp(udp::Args),
}

/// Time between two reads of the counters.
const LOOK: Duration = Duration::from_millis(100);

/// Passes events on until the process ends.
pub(super) fn run(args: &Args) -> Done {
    if let Some(Kind::Udp(args)) = &args.kind {
        return udp::run(args);
    }
    let (Some(from), Some(to)) = (&args.from, &args.to) else {
        return Err(because("specify both channels: --from URL --to URL"));
    };
    let builder = args.listening.at(in_order(Orb::builder()), args.port);
    let orb = with_args(builder).build()?;
    let find = |url: &str| -> Result<EventChannelRef, Failed> {
        let found = orb.resolve(url);
        found.map_err(|why| because(format!("the event channel {url}: {why}")))
    };
    let options =
        IiopOptions { use_ttl: !args.ignore_ttl, period: args.period, ..IiopOptions::default() };
    let (from, to) = (find(from)?, find(to)?);
    let gateway = IiopGateway::start(&orb, &from, &to, options).map_err(because)?;
    let end = end_of_process()?;
    let mut before = GatewayState::Starting;
    loop {
        let now = gateway.statistics().state;
        if now == GatewayState::SameChannel {
            return Err(because(GatewayError::SameChannel));
        }
        if now != before {
            told(args, before, now)?;
            before = now;
        }
        if end.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Disconnected) {
            break;
        }
    }
    let passed = gateway.statistics();
    drop(gateway);
    orb.shutdown(true)?;
    summary(args.format, &passed)
}

/// Reports changes of the gateway's state.
fn told(args: &Args, before: GatewayState, now: GatewayState) -> Done {
    let was_there = matches!(before, GatewayState::Connected | GatewayState::Idle);
    let what = match now {
        GatewayState::Connected => "connected",
        GatewayState::Idle => "idle",
        _ if was_there => "lost",
        _ => "waiting",
    };
    if args.format == Format::Json {
        return print_line(&json!({ "event": what }));
    }
    match now {
        GatewayState::Connected => print("connected\n"),
        GatewayState::Idle => print("idle: no consumer asks the channel for events\n"),
        _ => {
            oxorb_terminal::note!(
                "{BAD}{what}{BAD:#}: one of the channels does not answer, or rejects the gateway; the gateway tries \
                 again every {} (--period)",
                duration::text(args.period)
            );
            Ok(())
        }
    }
}

fn summary(format: Format, passed: &IiopStatistics) -> Done {
    let IiopStatistics { events, ended, failed, .. } = passed;
    match format {
        Format::Json => print_line(
            &json!({"event": "ended", "events": events, "ended": ended, "failed": failed}),
        ),
        Format::Text => print(format_args!(
            "forwarded {events} events; {ended} had no ttl left, {failed} failed\n"
        )),
    }
}
