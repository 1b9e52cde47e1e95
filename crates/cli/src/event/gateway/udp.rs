//! `oxorb event gateway udp`: passes events between a channel and datagrams.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use oxorb::transport::Access;
use oxorb::{Interface as _, Orb};
use oxorb_event::gateway::{
    AskedAddresses, Destinations, GroupOptions, GroupReceiver, NetworkInterface, ReceiverOptions,
    ReceiverStatistics, SenderOptions, UdpReceiver, UdpSender,
};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_udp_admin::AddrServerRef;
use oxorb_event::{Filter, RemoteChannel, asks_for, in_order};
use serde_json::json;

use super::super::channel::end_of_process;
use super::super::filter;
use super::{LONGEST, SHORTEST};
use crate::listening::{Listening, urls};
use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{BAD, Done, Failed, Format, because, counted, print, print_line};

/// Arguments of `oxorb event gateway udp`.
#[derive(clap::Args)]
#[command(
    after_help = manual!("The datagrams are compatible with TAO's UDP and multicast gateways, in both directions. \
    Sending an event decrements its ttl; an event whose ttl is 0 is not sent. A gateway with both --send and --receive \
    forwards the events that it receives: on hosts that share a multicast group, push events with a ttl of 1. Lost \
    datagrams are not detected. The gateway tries to reach a lost channel until it is available again. The channel \
    calls the gateway, so the gateway needs an address that the channel can reach: --host.\n\nExamples:\n  \
    oxorb event gateway udp --at corbaloc::host:2811/EventService \\\n    \
    --send 239.255.0.1:10001 --interface eth0\n  \
    oxorb event gateway udp --at corbaloc::host:2811/EventService \\\n    \
    --receive 239.255.0.1:10001 --interface eth0\n  \
    oxorb event gateway udp --at file:ec.ior 'type==17' \\\n    \
    --send '17@10.0.0.8:9000 *@10.0.0.9:9000' --crc\n  \
    oxorb event gateway udp --at file:ec.ior --addresses corbaloc::host:2812/Addresses\n  \
    oxorb event gateway udp --at file:ec.ior \\\n    --follow '17@239.255.0.2:10001 *@239.255.0.1:10001'")
)]
pub(crate) struct Args {
    /// Channel: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, alias = "channel", value_name = "URL")]
    at: String,
    /// Filter of the events to send, such as `type==17 && source!=3`; default: all events
    #[arg(value_name = "FILTER")]
    filter: Option<String>,
    /// Send events to ADDRESS:PORT, or by type as 'TYPE@ADDRESS:PORT ... *@ADDRESS:PORT'
    #[arg(long, value_name = "ADDRESS:PORT", required_unless_present_any = ["receive", "follow", "addresses"])]
    send: Option<String>,
    /// Send each event to the address that an address server returns (RtecUDPAdmin::AddrServer, of TAO or OxORB): IOR:,
    /// corbaloc:, corbaname: or file:. The server is queried every 10 seconds for each type and source
    #[arg(long, value_name = "URL", conflicts_with = "send")]
    addresses: Option<String>,
    /// Send to the IPv6 addresses of the address server; default: to the IPv4 addresses
    #[arg(long, requires = "addresses")]
    ipv6: bool,
    /// Serve the addresses of --send to other gateways, as an address server at corbaloc::HOST:PORT/NAME
    #[arg(long, value_name = "NAME", requires = "send")]
    serve_addresses: Option<String>,
    /// Treat the numbers before @ in --send and --follow as sources, not types
    #[arg(long)]
    by_source: bool,
    /// Receive events at ADDRESS:PORT, which may be a multicast group
    #[arg(long, value_name = "ADDRESS:PORT")]
    receive: Option<SocketAddr>,
    /// Receive from the multicast groups of the events to which consumers of the channel subscribe, and join and leave
    /// groups as consumers connect and disconnect. The groups are given as 'TYPE@ADDRESS:PORT ... *@ADDRESS:PORT', or
    /// by the URL of an address server
    #[arg(long, value_name = "GROUPS|URL", conflicts_with = "receive")]
    follow: Option<String>,
    /// Receive only from these senders, as `-ORBAccess` names clients: 'allow 10.0.0.0/8', 'deny 10.9.0.0/16, allow
    /// all'. Addresses can be forged; default: from every sender
    #[arg(long, value_name = "RULES")]
    senders: Option<Access>,
    /// Interface for multicast groups: its name, or its IPv4 address; default: the system's choice
    #[arg(long, value_name = "INTERFACE")]
    interface: Option<NetworkInterface>,
    /// Maximum number of networks that a datagram to a multicast group may cross
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=255))]
    ttl: u32,
    /// Maximum size in octets of a datagram, including its header of 32 octets
    #[arg(long, value_name = "OCTETS", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(40..=65_507))]
    mtu: u32,
    /// Send a CRC-32 in each datagram, and require one in each datagram received
    #[arg(long)]
    crc: bool,
    /// Time between two checks that the channel exists. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "5s", value_parser = duration::seconds().at_least(SHORTEST).at_most(LONGEST))]
    period: Duration,
    /// Port on which the channel calls the gateway; 0 lets the system choose
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Output format; JSON writes one line for each change of the connection, and one at the end
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Time limit of a call to the channel.
const CALL: Duration = Duration::from_secs(5);

/// Passes events on until the process ends.
pub(crate) fn run(args: &Args) -> Done {
    let builder = args.listening.at(in_order(Orb::builder()), args.port);
    let builder = builder.connect_timeout(CALL).round_trip_timeout(CALL);
    let orb = with_args(builder).build()?;
    let plan = Plan::read(args, &orb)?;
    let addresses = plan.serve_addresses(args, &orb)?;
    let found: Result<EventChannelRef, _> = orb.resolve(&args.at);
    let channel = found.map_err(|why| because(format!("the event channel {}: {why}", args.at)))?;
    let channel = RemoteChannel::new(&orb, channel);
    let end = end_of_process()?;
    let period = args.period;
    let mut totals = Totals::default();
    // If the first connection fails, the command ends. Only a connection that is lost later is restored.
    let mut ends = Some(plan.connect(&channel)?);
    told(args.format, "connected")?;
    if let Some(urls) = addresses {
        serving(args.format, &urls)?;
    }
    let mut next_look = Instant::now() + period;
    loop {
        let left = next_look.saturating_duration_since(Instant::now());
        if end.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
        next_look = Instant::now() + period;
        if let Some(lost) = ends.take_if(|ends| !ends.are_connected()) {
            totals.add(&lost);
            told(args.format, "lost")?;
        }
        if ends.is_none()
            && let Ok(again) = plan.connect(&channel)
        {
            ends = Some(again);
            told(args.format, "connected")?;
        }
    }
    if let Some(ends) = &ends {
        totals.add(ends);
    }
    drop(ends);
    orb.shutdown(true)?;
    totals.tell(args.format)
}

/// Connections to make.
struct Plan {
    filter: Filter,
    send: Option<SenderOptions>,
    receive: Option<ReceiverOptions>,
    follow: Option<GroupOptions>,
}

impl Plan {
    fn read(args: &Args, orb: &Orb) -> Result<Plan, Failed> {
        if args.filter.is_some() && args.send.is_none() && args.addresses.is_none() {
            return Err(because(
                "a filter selects the events to send: specify the destination with --send or --addresses",
            ));
        }
        let filter = match &args.filter {
            None => Filter::ALL,
            Some(text) => filter::parse(text).map_err(because)?,
        };
        let interface = args.interface.unwrap_or_default();
        let send = match (&args.send, &args.addresses) {
            (Some(text), _) => Some(args.send_to(table(text, args.by_source)?, text.contains('['))),
            (None, Some(url)) => Some(args.send_to(asked(orb, url)?, args.ipv6)),
            (None, None) => None,
        };
        if args.senders.is_some() && args.receive.is_none() && args.follow.is_none() {
            return Err(because(
                "--senders restricts what --receive and --follow receive, and needs one of them",
            ));
        }
        let senders = args.senders.clone().unwrap_or_default();
        let receive = args.receive.map(|listen| ReceiverOptions {
            interface,
            checksum: args.crc,
            senders: senders.clone(),
            ..ReceiverOptions::new(listen)
        });
        let follow = match &args.follow {
            None => None,
            Some(groups) => {
                let is_url = ["IOR:", "corbaloc:", "corbaname:", "file:"]
                    .iter()
                    .any(|scheme| groups.starts_with(scheme));
                let mut options = GroupOptions::new(match is_url {
                    true => asked(orb, groups)?,
                    false => table(groups, args.by_source)?,
                });
                options.receiver.interface = interface;
                options.receiver.checksum = args.crc;
                options.receiver.senders = senders;
                options.period = args.period;
                Some(options)
            }
        };
        if args.by_source && args.send.is_none() && follow.is_none() {
            return Err(because(
                "--by-source changes the meaning of the numbers in --send and --follow, and needs one \
                                of them",
            ));
        }
        Ok(Plan { filter, send, receive, follow })
    }

    /// Serves the addresses if requested. Returns the URLs.
    fn serve_addresses(&self, args: &Args, orb: &Orb) -> Result<Option<Vec<String>>, Failed> {
        let (Some(name), Some(send)) = (&args.serve_addresses, &self.send) else {
            return Ok(None);
        };
        let server: AddrServerRef = orb.root_poa().activate(send.destinations.clone())?;
        orb.bind(name, &server);
        Ok(Some(urls(server.reference(), name)))
    }

    fn connect(&self, channel: &RemoteChannel) -> Result<Ends, Failed> {
        let mut ends = Ends { sender: None, receiver: None, groups: None };
        if let Some(options) = &self.send {
            let wanted = asks_for(&self.filter);
            ends.sender = Some(UdpSender::connect(channel, &wanted, options.clone())?);
        }
        // A gateway in both directions must ignore its own datagrams, which a multicast group sends back to it.
        let ignore = match &ends.sender {
            Some(sender) => Some(sender.address()?),
            None => None,
        };
        if let Some(options) = &self.receive {
            let options = ReceiverOptions { ignore, ..options.clone() };
            ends.receiver = Some(UdpReceiver::connect(channel, options)?);
        }
        if let Some(options) = &self.follow {
            let mut options = options.clone();
            options.receiver.ignore = ignore;
            ends.groups = Some(GroupReceiver::connect(channel, options)?);
        }
        Ok(ends)
    }
}

impl Args {
    fn send_to(&self, destinations: Destinations, ipv6: bool) -> SenderOptions {
        // A socket has only one address family, so the local address needs that of the destinations.
        let local = match ipv6 {
            true => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
            false => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        };
        SenderOptions {
            local,
            interface: self.interface.unwrap_or_default(),
            mtu: self.mtu as usize,
            checksum: self.crc,
            hops: self.ttl,
            ..SenderOptions::new(destinations)
        }
    }
}

fn table(text: &str, by_source: bool) -> Result<Destinations, Failed> {
    Ok(match (text.parse::<SocketAddr>(), by_source) {
        (Ok(all), _) => Destinations::all(all),
        (Err(_), false) => Destinations::by_type(text)?,
        (Err(_), true) => Destinations::by_source(text)?,
    })
}

fn asked(orb: &Orb, url: &str) -> Result<Destinations, Failed> {
    let server: Result<AddrServerRef, _> = orb.resolve(url);
    let server = server.map_err(|why| because(format!("the address server {url}: {why}")))?;
    Ok(Destinations::asked(AskedAddresses::new(server)))
}

/// Connections to the channel.
struct Ends {
    sender: Option<UdpSender>,
    receiver: Option<UdpReceiver>,
    groups: Option<GroupReceiver>,
}

impl Ends {
    fn are_connected(&self) -> bool {
        self.sender.as_ref().is_none_or(UdpSender::is_connected)
            && self.receiver.as_ref().is_none_or(UdpReceiver::is_connected)
            && self.groups.as_ref().is_none_or(GroupReceiver::is_connected)
    }
}

/// Counts of all connections.
#[derive(Default, serde::Serialize)]
struct Totals {
    sent: u64,
    datagrams_sent: u64,
    ended: u64,
    nowhere: u64,
    send_failed: u64,
    received: u64,
    datagrams_received: u64,
    malformed: u64,
    undecodable: u64,
    incomplete: u64,
    refused: u64,
}

impl Totals {
    fn add(&mut self, ends: &Ends) {
        if let Some(sender) = &ends.sender {
            let sent = sender.statistics();
            self.sent += sent.events;
            self.datagrams_sent += sent.datagrams;
            self.ended += sent.ended;
            self.nowhere += sent.nowhere;
            self.send_failed += sent.failed;
        }
        let receiver = ends.receiver.as_ref().map(UdpReceiver::statistics);
        let groups = ends.groups.as_ref().map(|it| it.statistics().received);
        for received in [receiver, groups].into_iter().flatten() {
            let received: ReceiverStatistics = received;
            self.received += received.events;
            self.datagrams_received += received.datagrams;
            self.malformed += received.malformed;
            self.undecodable += received.undecodable;
            self.incomplete += received.messages.incomplete;
            self.refused += received.refused;
        }
    }

    fn tell(&self, format: Format) -> Done {
        match format {
            Format::Json => print_line(&json!({"event": "ended", "counts": self})),
            Format::Text => print(format_args!(
                "sent {} in {}; {} had no ttl left, {} no destination, {} failed\n\
                 received {} in {}; {} malformed, {} undecodable, {} incomplete, {} refused\n",
                counted(self.sent, "event"),
                counted(self.datagrams_sent, "datagram"),
                self.ended,
                self.nowhere,
                self.send_failed,
                counted(self.received, "event"),
                counted(self.datagrams_received, "datagram"),
                self.malformed,
                self.undecodable,
                self.incomplete,
                self.refused,
            )),
        }
    }
}

fn told(format: Format, what: &str) -> Done {
    match (format, what) {
        (Format::Json, what) => print_line(&json!({ "event": what })),
        (Format::Text, "lost") => {
            oxorb_terminal::note!("{BAD}lost{BAD:#}: the channel does not answer");
            Ok(())
        }
        (Format::Text, what) => print(format_args!("{what}\n")),
    }
}

fn serving(format: Format, urls: &[String]) -> Done {
    match format {
        Format::Json => print_line(&json!({"event": "serving addresses", "corbaloc": urls})),
        Format::Text => print(format_args!("serving addresses at {}\n", urls.join(" "))),
    }
}
