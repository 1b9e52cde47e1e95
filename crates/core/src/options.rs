//! What can be configured: one table yields the struct's defaults, `-ORB`
//! arguments, `OXORB_` environment variables and their documentation.

use std::fmt;
use std::time::Duration;

use oxorb_cdr::{ByteOrder, CharSet, Dialect, Encoder};
use oxorb_giop::{Limits, Version, setting};
use oxorb_sys::schedule::Class;
use oxorb_transport::{Access, AccessError, Endpoint, Publish};

use crate::concurrency::{CONCURRENCY, Concurrency};
use crate::rt::{LaneEndpoints, LaneNumber, MappingChoice, RealTime};
use crate::server::{ReactorChoice, ThreadFilters};

/// How clients share connections (CHECKLIST A4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientConnections {
    /// Each thread has its own connection to each server, and takes no lock to
    /// use it (A4.1, A4.10). For real time: connect before the first deadline
    /// with [`Ref::validate_connection`](crate::Ref::validate_connection).
    Private,
    /// Threads take an idle connection and put it back (A4.7): as many
    /// connections as calls that run at the same time, one short lock per call.
    Cached,
    /// All threads share one connection to each server, and a thread of the ORB
    /// reads it for them all (A4.9, "active connection"). Each call takes
    /// locks, allocates, and waits for two changes of thread.
    Multiplexed,
    /// All threads share one connection to each server, and one of those that
    /// wait reads it for the others (A4.9, "leader/followers"). Each call takes
    /// locks and allocates.
    LeaderFollowers,
}

/// The configuration of one ORB. Made by the builder, fixed once the ORB runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where to listen; empty: one system-chosen port on all interfaces, opened
    /// when the first object needs an address.
    pub listen: Vec<Endpoint>,
    /// What references say instead of the addresses found: for servers behind
    /// NAT, in containers, and with several interfaces. Empty: every address of
    /// this host that others can connect to.
    pub publish: Vec<Publish>,
    /// `Name=URL` pairs for initial references.
    pub init_refs: Vec<(String, String)>,
    /// What initial references not listed are resolved below.
    pub default_init_ref: Option<String>,
    /// How long a two-way call may take; `None`: for ever.
    pub round_trip_timeout: Option<Duration>,
    /// How long connecting to one server may take.
    pub connect_timeout: Duration,
    /// Most octets of oneways that wait for each server under
    /// `SyncScope::None`; one more is TRANSIENT, COMPLETED_NO.
    pub buffered_oneways: usize,
    /// The clocks of this machine and of its servers agree: relative time limits
    /// travel as end times, too, which other ORBs understand.
    pub synchronized_clocks: bool,
    /// How long a client may stall in mid-message, or not take its replies.
    pub stall_timeout: Duration,
    /// How clients share connections.
    pub client_connections: ClientConnections,
    /// Which threads serve requests.
    pub concurrency: Concurrency,
    /// How threads that serve several connections wait for the next request.
    pub reactor: ReactorChoice,
    /// Pick the threads that serve requests, by what those are (A5.5).
    pub thread_filters: ThreadFilters,
    /// How long a leader/followers worker stays with a connection that fell
    /// silent, while another worker watches the others. Longer saves system
    /// calls for clients that pause between calls; should all others become
    /// busy meanwhile, further connections wait this much longer.
    pub worker_stay: Duration,
    /// How long a client connection may be idle before it is checked (one
    /// system call) ahead of its next use, so that a restarted server costs no
    /// failed call.
    pub trust_idle: Duration,
    /// Most connections a server accepts. For a further one the connection that
    /// idles longest is closed in order (told CloseConnection; its client
    /// connects again when it needs to); when none idles, the new one is.
    /// Each costs a descriptor, about 10 KiB, and a thread if it has its own.
    pub max_connections: usize,
    /// Most connections from one client address; a further one is closed in
    /// order, so that its client sees TRANSIENT or goes elsewhere. `None`: no
    /// limit but `max_connections`. All clients behind one NAT count together.
    pub max_connections_per_client: Option<usize>,
    /// Most requests of one client address that run at one time; a further one
    /// is answered TRANSIENT (minor `TOO_MANY_REQUESTS`, not run), a oneway one
    /// is dropped. `None`: as many as it has connections, and callbacks within
    /// callbacks.
    pub max_requests_per_client: Option<usize>,
    /// Most octets that large messages (above 64 KiB) of one client address
    /// hold while they arrive and are served. A further large message waits in
    /// the client's socket, at most `stall_timeout`. `None`: no limit.
    pub max_octets_per_client: Option<usize>,
    /// How long a client's connection may be idle before the server closes it
    /// in order; `None`: for ever. Its client connects again with the next
    /// call, which costs that call the time to connect.
    pub idle_timeout: Option<Duration>,
    /// After how much silence the system asks whether a peer still exists, and
    /// ends the connection of one that does not answer for as long again;
    /// `None`: never.
    pub keep_alive: Option<Duration>,
    /// Who may connect, where an endpoint has no rules of its own.
    pub access: Access,
    /// Whether connections to servers are offered for requests of the server to
    /// objects here (bidirectional GIOP): callbacks then need no way through NAT
    /// or firewalls in the other direction. All calls to a server then share
    /// one connection. An offer lets that server call any object here whose POA
    /// does not say otherwise.
    pub offer_bidirectional: bool,
    /// Whether such offers of clients are taken, where the POA does not say.
    pub accept_bidirectional: bool,
    /// Most idle connections kept per server address (`ClientConnections::Cached`).
    pub max_idle_connections: usize,
    /// Most connections to servers that are kept, over all servers
    /// (`ClientConnections::Cached`): when one more is opened, the one that
    /// idles longest is closed. Connections in use are never closed, so there
    /// may be more for a while. `None`: no limit.
    pub max_client_connections: Option<usize>,
    /// How long a connection to a server may be idle before it is closed
    /// (`ClientConnections::Cached`); `None`: for ever. The next call then
    /// takes the time to connect. Costs a thread while there are connections.
    pub client_idle_timeout: Option<Duration>,
    /// The highest GIOP version to publish and to speak.
    pub max_giop: Version,
    /// The code set of `char` and `string` that references name as ours first, and that we prefer. Text is Unicode here
    /// either way, and the other one is understood, too.
    pub native_chars: CharSet,
    /// Byte order of what is sent. Anything but the machine's own costs time.
    pub byte_order: ByteOrder,
    /// Octet and number sequences longer than this many octets are sent from
    /// where they lie; shorter ones are copied (A8.7).
    pub gather_above: usize,
    /// Messages longer than this many octets are sent as GIOP 1.2 fragments;
    /// `None`: never.
    pub fragment_size: Option<usize>,
    /// Most requests that wait at one POA manager that holds, at one POA with a
    /// single thread, or for the main thread; more are TRANSIENT.
    pub max_held: usize,
    /// How long each of them waits before it is TRANSIENT, how long a request
    /// that came before its start time may (a later one is TRANSIENT at once),
    /// and how long the object adapter waits for the end of requests where it is told to.
    pub hold_time: Duration,
    /// Stamps when a request passes which stage, in all threads of this process: see [`probe`](crate::probe), which can
    /// also switch that while the ORB runs.
    pub time_probes: bool,
    /// Most requests that servants keep to answer them later (AMH) at one time;
    /// one more is TRANSIENT (minor `TOO_MANY_UNANSWERED`) and not run. Each
    /// takes some hundred octets.
    pub max_unanswered: usize,
    /// Limits on what a peer may send, and on what is sent.
    pub limits: Limits,
    /// Priorities, and how they reach the scheduler.
    pub realtime: RealTime,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            listen: Vec::new(),
            publish: Vec::new(),
            init_refs: Vec::new(),
            default_init_ref: None,
            round_trip_timeout: Some(Duration::from_secs(60)),
            connect_timeout: Duration::from_secs(5),
            buffered_oneways: 1 << 20,
            synchronized_clocks: false,
            stall_timeout: Duration::from_secs(30),
            client_connections: ClientConnections::Cached,
            concurrency: Concurrency::ThreadPerConnection,
            reactor: ReactorChoice::Epoll,
            thread_filters: ThreadFilters::default(),
            worker_stay: Duration::from_millis(1),
            trust_idle: Duration::from_millis(5),
            max_connections: 1000,
            max_connections_per_client: None,
            max_requests_per_client: None,
            max_octets_per_client: Some(256 << 20),
            idle_timeout: None,
            keep_alive: Some(Duration::from_secs(60)),
            access: Access::default(),
            offer_bidirectional: false,
            accept_bidirectional: false,
            max_idle_connections: 16,
            max_client_connections: None,
            client_idle_timeout: None,
            max_giop: Version::V1_2,
            native_chars: CharSet::Utf8,
            byte_order: ByteOrder::NATIVE,
            gather_above: 4096,
            fragment_size: None,
            max_held: 256,
            max_unanswered: 10_000,
            hold_time: Duration::from_secs(30),
            time_probes: false,
            limits: Limits::default(),
            realtime: RealTime::default(),
        }
    }
}

/// One thing that can be set by argument or environment.
pub struct Setting {
    /// After `-ORB`, and upper-cased after `OXORB_`.
    pub name: &'static str,
    /// What it takes, as `--help` would print it.
    pub value: &'static str,
    /// One sentence.
    pub help: &'static str,
    apply: fn(&mut Options, &str) -> Result<(), String>,
}

/// Everything that can be set by argument or environment.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "InitRef",
        value: "NAME=URL",
        help: "An initial reference; may be given several times.",
        apply: |options, text| {
            let (name, url) = text
                .split_once('=')
                .ok_or("expected NAME=URL, as in NameService=corbaloc::host:2809/NameService")?;
            options.init_refs.push((name.to_owned(), url.to_owned()));
            Ok(())
        },
    },
    Setting {
        name: "DefaultInitRef",
        value: "URL",
        help: "Where initial references not given by InitRef are looked up: URL/NAME.",
        apply: |options, text| {
            options.default_init_ref = Some(text.to_owned());
            Ok(())
        },
    },
    Setting {
        name: "ListenEndpoints",
        value: "ENDPOINTS",
        help: "Where to listen: iiop://HOST:PORT[/OPTION=VALUE&...][;...].",
        apply: |options, text| {
            options
                .listen
                .extend(Endpoint::parse_list(text).map_err(|error| error.to_string())?);
            Ok(())
        },
    },
    Setting {
        name: "EndPointPublish",
        value: "addr|ipv4|ipv6|hostname|HOST[:PORT],...",
        help: "What references say of where to connect, instead of all addresses of this host.",
        apply: |options, text| {
            options.publish.extend(Publish::parse_list(text)?);
            Ok(())
        },
    },
    Setting {
        name: "RoundTripTimeout",
        value: "MS",
        help: "How long a two-way call may take, in milliseconds; 0: for ever. Default 60000.",
        apply: |options, text| {
            let limit = milliseconds(text)?;
            options.round_trip_timeout = (!limit.is_zero()).then_some(limit);
            Ok(())
        },
    },
    Setting {
        name: "ConnectTimeout",
        value: "MS",
        help: "How long connecting to one server may take, in milliseconds. Default 5000.",
        apply: |options, text| {
            options.connect_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "BufferedOneways",
        value: "OCTETS",
        help: "Most that oneways with SYNC_NONE may hold for each server. Default 1 MiB.",
        apply: |options, text| {
            options.buffered_oneways = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SynchronizedClocks",
        value: "yes|no",
        help: "Whether relative time limits travel as end times, too. Default no.",
        apply: |options, text| {
            options.synchronized_clocks = match text {
                "yes" => true,
                "no" => false,
                _ => return Err("expected yes or no".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "StallTimeout",
        value: "MS",
        help: "How long a client may stall in mid-message, in milliseconds. Default 30000.",
        apply: |options, text| {
            options.stall_timeout = some_milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClientConnections",
        value: "private|cached|multiplexed|leader-followers",
        help: "Connections per thread without locks, or taken and put back by all threads; or one that all calls share, read by a thread of the ORB or by the callers in turn. Default cached.",
        apply: |options, text| {
            options.client_connections = match text {
                "private" => ClientConnections::Private,
                "cached" => ClientConnections::Cached,
                "multiplexed" => ClientConnections::Multiplexed,
                "leader-followers" => ClientConnections::LeaderFollowers,
                _ => {
                    return Err(
                        "expected private, cached, multiplexed or leader-followers".to_owned()
                    );
                }
            };
            Ok(())
        },
    },
    Setting {
        name: "Concurrency",
        value: CONCURRENCY,
        help: "Which threads serve requests: one for each connection; one for all; N workers in turn; one for each request, at most N; N workers from a queue of QUEUE requests. Default thread-per-connection.",
        apply: |options, text| {
            options.concurrency = Concurrency::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "Reactor",
        value: "epoll|busy-poll:MICROSECONDS",
        help: "How threads that serve several connections wait: asleep, or asking the kernel again and again for so long. Default epoll.",
        apply: |options, text| {
            options.reactor = ReactorChoice::parse(text)?;
            Ok(())
        },
    },
    Setting {
        name: "WorkerStay",
        value: "MS",
        help: "How long a leader/followers worker stays with a silent connection. Default 1.",
        apply: |options, text| {
            options.worker_stay = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TrustIdle",
        value: "MS",
        help: "How long a client connection may idle before it is checked. Default 5.",
        apply: |options, text| {
            options.trust_idle = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxConnections",
        value: "N",
        help: "Most connections a server accepts. Default 1000.",
        apply: |options, text| {
            options.max_connections = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxConnectionsPerClient",
        value: "N",
        help: "Most connections a server accepts from one address; 0: no such limit. Default 0.",
        apply: |options, text| {
            options.max_connections_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxRequestsPerClient",
        value: "N",
        help: "Most requests of one address that run at a time; 0: no limit. Default 0.",
        apply: |options, text| {
            options.max_requests_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxOctetsPerClient",
        value: "OCTETS",
        help: "Most that large messages of one address hold at a time; 0: no limit. Default 256 MiB.",
        apply: |options, text| {
            options.max_octets_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "IdleTimeout",
        value: "MS",
        help: "After how long a server closes an idle connection, in milliseconds; 0: never. Default 0.",
        apply: |options, text| {
            options.idle_timeout = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "KeepAlive",
        value: "MS",
        help: "After how much silence the system asks whether a peer is there; 0: never. Default 60000.",
        apply: |options, text| {
            options.keep_alive = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "Access",
        value: "RULES",
        help: "Who may connect: allow NETWORK and deny NETWORK, separated by commas.",
        apply: |options, text| {
            options.access = text
                .parse()
                .map_err(|error: AccessError| error.to_string())?;
            Ok(())
        },
    },
    Setting {
        name: "OfferBiDirectionalGIOP",
        value: "0|1",
        help: "Whether servers may call back over the connections to them. Default 0.",
        apply: |options, text| {
            options.offer_bidirectional = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "AcceptBiDirectionalGIOP",
        value: "0|1",
        help: "Whether clients are called back over their connections if they offer it. Default 0.",
        apply: |options, text| {
            options.accept_bidirectional = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxIdleConnections",
        value: "N",
        help: "Most idle connections a client keeps for each server address. Default 16.",
        apply: |options, text| {
            options.max_idle_connections = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxClientConnections",
        value: "N",
        help: "Most cached connections to all servers; 0: no limit. Default 0.",
        apply: |options, text| {
            options.max_client_connections = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ClientIdleTimeout",
        value: "MS",
        help: "After how long a client closes an idle connection, in milliseconds; 0: never. Default 0.",
        apply: |options, text| {
            options.client_idle_timeout = or_none(text)?.map(|ms| Duration::from_millis(ms as u64));
            Ok(())
        },
    },
    Setting {
        name: "MaxGIOPVersion",
        value: "1.0|1.1|1.2",
        help: "The highest GIOP version to publish and to speak. Default 1.2.",
        apply: |options, text| {
            options.max_giop = match text {
                "1.0" => Version::V1_0,
                "1.1" => Version::V1_1,
                "1.2" => Version::V1_2,
                _ => return Err("expected 1.0, 1.1 or 1.2".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "NativeCharCodeSet",
        value: "UTF-8|ISO-8859-1",
        help: "The native code set of char and string, which clients at home in it choose. With UTF-8 every string passes, \
               but no single char outside of ASCII; with ISO-8859-1 every char of that set passes, but peers that know \
               both sets may send no other characters in strings either. Default UTF-8.",
        apply: |options, text| {
            options.native_chars = match text.to_ascii_uppercase().replace('_', "-").as_str() {
                "UTF-8" | "UTF8" => CharSet::Utf8,
                "ISO-8859-1" | "ISO8859-1" => CharSet::Iso8859_1,
                _ => return Err("expected UTF-8 or ISO-8859-1".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "ByteOrder",
        value: "native|big|little",
        help: "Byte order of what is sent; for tests of peers. Default native.",
        apply: |options, text| {
            options.byte_order = match text {
                "native" => ByteOrder::NATIVE,
                "big" => ByteOrder::Big,
                "little" => ByteOrder::Little,
                _ => return Err("expected native, big or little".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "CDRTradeoff",
        value: "OCTETS",
        help: "Sequences longer than this are sent from where they lie. Default 4096.",
        apply: |options, text| {
            options.gather_above = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "FragmentSize",
        value: "OCTETS",
        help: "Messages longer than this are sent as GIOP 1.2 fragments; 0: never. Default 0.",
        apply: |options, text| {
            let size: usize = number(text)?;
            if size != 0 && size < MIN_FRAGMENT {
                return Err(format!("a fragment has at least {MIN_FRAGMENT} octets"));
            }
            options.fragment_size = (size != 0).then_some(size);
            Ok(())
        },
    },
    Setting {
        name: "MaxHeld",
        value: "N",
        help: "Most requests that wait at a holding POA manager, for their turn in a POA with a single thread, or for the main thread; more are TRANSIENT. Default 256.",
        apply: |options, text| {
            options.max_held = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "HoldTime",
        value: "MILLISECONDS",
        help: "How long each of them waits before it is TRANSIENT, and how long the object adapter waits for requests to end. Default 30000.",
        apply: |options, text| {
            options.hold_time = milliseconds(text)?;
            Ok(())
        },
    },
    Setting {
        name: "SchedPolicy",
        value: "SCHED_OTHER|SCHED_FIFO|SCHED_RR",
        help: "In which scheduling class threads with a priority run. Default SCHED_OTHER: priorities do not reach the scheduler.",
        apply: |options, text| {
            options.realtime.class = match text {
                "SCHED_OTHER" => Class::Other,
                "SCHED_FIFO" => Class::Fifo,
                "SCHED_RR" => Class::RoundRobin,
                _ => return Err("expected SCHED_OTHER, SCHED_FIFO or SCHED_RR".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "PriorityMapping",
        value: "direct|linear|continuous",
        help: "Which priority of the scheduling class stands for a CORBA priority. Default linear.",
        apply: |options, text| {
            options.realtime.mapping = match text {
                "direct" => MappingChoice::Direct,
                "linear" => MappingChoice::Linear,
                "continuous" => MappingChoice::Continuous,
                _ => return Err("expected direct, linear or continuous".to_owned()),
            };
            Ok(())
        },
    },
    Setting {
        name: "TimeProbes",
        value: "0|1",
        help: "Whether requests leave behind when they passed which stage (under 50 ns for each). Default 0.",
        apply: |options, text| {
            options.time_probes = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxUnanswered",
        value: "N",
        help: "Most requests that servants keep to answer them later (AMH); more are TRANSIENT. Default 10000.",
        apply: |options, text| {
            options.max_unanswered = number(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LaneListenEndpoints",
        value: "POOL:LANE=ENDPOINTS",
        help: "Where a lane of a threadpool listens (TAO's form with a space is understood, too); * for all. Default: ports that the system chooses.",
        apply: |options, text| {
            let lane = LaneEndpoints::parse(text)?;
            options.realtime.lane_endpoints.push(lane);
            Ok(())
        },
    },
    Setting {
        name: "LaneCPU",
        value: "POOL:LANE=CPU",
        help: "The only processor that threads of a lane run on, where its threadpool does not say; * for all. Default: any.",
        apply: |options, text| {
            let cpu = LaneNumber::parse(text, u16::MAX)?;
            options.realtime.lane_cpus.push(cpu);
            Ok(())
        },
    },
    Setting {
        name: "LaneDSCP",
        value: "POOL:LANE=DSCP",
        help: "Marks the packets of a lane's connections, 0 to 63, where its threadpool does not say; * for all. Default: as the system does.",
        apply: |options, text| {
            let dscp = LaneNumber::parse(text, 63)?;
            options.realtime.lane_dscps.push(dscp);
            Ok(())
        },
    },
    Setting {
        name: "DynamicThreadIdleTimeout",
        value: "MICROSECONDS",
        help: "How long a dynamic thread of a lane waits in vain before it ends; 0: for ever. Default 0.",
        apply: |options, text| {
            let idle: u64 = number(text)?;
            options.realtime.dynamic_idle = (idle != 0).then(|| Duration::from_micros(idle));
            Ok(())
        },
    },
    Setting {
        name: "MaxBufferedOctets",
        value: "OCTETS",
        help: "Most that requests waiting in a lane may hold where its threadpool does not say. Default 64 MiB.",
        apply: |options, text| {
            options.realtime.max_buffered_octets = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LockMemory",
        value: "0|1",
        help: "Whether the process keeps its memory in RAM from the first threadpool on. Default 0.",
        apply: |options, text| {
            options.realtime.lock_memory = yes_or_no(text)?;
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_MESSAGE,
        value: "OCTETS",
        help: "The longest message to accept and to send. Default 64 MiB.",
        apply: |options, text| {
            options.limits.max_message = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_PARTIAL_MESSAGES,
        value: "N",
        help: "Most fragmented messages of a connection that may be incomplete. Default 16.",
        apply: |options, text| {
            options.limits.max_partial_messages = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_PARTIAL_OCTETS,
        value: "OCTETS",
        help: "Most that incomplete fragmented messages of a connection may hold. Default 64 MiB.",
        apply: |options, text| {
            options.limits.max_partial_octets = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxDepth",
        value: "N",
        help: "How deeply encapsulations and recursive values may nest. Default 64.",
        apply: |options, text| {
            options.limits.cdr.max_depth = match number(text)? {
                0 => return Err("expected a number of at least 1".to_owned()),
                depth => depth,
            };
            Ok(())
        },
    },
    Setting {
        name: "KeptCapacity",
        value: "OCTETS",
        help: "The largest buffer that a connection keeps between messages. Default 2 MiB.",
        apply: |options, text| {
            options.limits.kept_capacity = number(text)?;
            Ok(())
        },
    },
];

/// Header and service contexts must fit the first fragment.
const MIN_FRAGMENT: usize = 1024;

impl Options {
    /// Takes the `-ORB...` arguments out of a command line, as `ORB_init` does;
    /// what remains is the application's.
    ///
    /// Both `-ORBName value` and `-ORBName=value` are understood, the name in
    /// any case. An unknown one is an error, so that a typing mistake cannot
    /// silently change nothing.
    pub fn take_args(
        &mut self,
        args: impl IntoIterator<Item = String>,
    ) -> Result<Vec<String>, SettingError> {
        let mut rest = Vec::new();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(body) = arg.strip_prefix("-ORB") else {
                rest.push(arg);
                continue;
            };
            let (name, value) = match body.split_once('=') {
                Some((name, value)) if find(name).is_some() => (name, Some(value.to_owned())),
                _ => (body, None),
            };
            let setting = find(name).ok_or_else(|| SettingError {
                setting: arg.clone(),
                problem: unknown(name),
            })?;
            let missing = || SettingError {
                setting: arg.clone(),
                problem: format!("needs a value: {}", setting.value),
            };
            let mut value = value.or_else(|| args.next()).ok_or_else(missing)?;
            // TAO's `1:0 iiop://...`, in two arguments.
            if setting.name == "LaneListenEndpoints" && !value.contains(['=', ' ']) {
                value = format!("{value}={}", args.next().ok_or_else(missing)?);
            }
            (setting.apply)(self, &value).map_err(|problem| SettingError {
                setting: format!("-ORB{} {value}", setting.name),
                problem,
            })?;
        }
        Ok(rest)
    }

    /// Sets one option by its name, as `-ORBname value` does.
    ///
    /// # Errors
    /// For an unknown name, and for a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let error = |problem| SettingError {
            setting: format!("-ORB{name} {value}"),
            problem,
        };
        let setting = find(name).ok_or_else(|| error(unknown(name)))?;
        (setting.apply)(self, value).map_err(error)
    }

    /// Applies `OXORB_INITREF`, `OXORB_LISTENENDPOINTS`, ... from the environment.
    pub fn take_env(&mut self) -> Result<(), SettingError> {
        for setting in SETTINGS {
            let variable = format!("OXORB_{}", setting.name.to_uppercase());
            if let Ok(value) = std::env::var(&variable) {
                (setting.apply)(self, &value).map_err(|problem| SettingError {
                    setting: format!("{variable}={value}"),
                    problem,
                })?;
            }
        }
        Ok(())
    }
}

impl Options {
    /// A buffer for the next message, out of that of the last one: a large
    /// message must not cost its memory for as long as the connection lives.
    #[inline]
    pub(crate) fn keep(&self, buffer: Vec<u8>) -> Vec<u8> {
        if buffer.capacity() > self.limits.kept_capacity {
            return Vec::new();
        }
        buffer
    }

    /// A writer for one message, into a buffer that is used again.
    pub(crate) fn encoder<'a>(&self, buffer: Vec<u8>, dialect: Dialect) -> Encoder<'a> {
        Encoder::new(buffer, self.byte_order, dialect).gather_above(self.gather_above)
    }
}

/// A setting that is unknown or has a value it cannot have.
///
/// `Debug` prints what `Display` does, so that a `main` which returns it is
/// readable.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingError {
    /// As it was given.
    pub setting: String,
    /// What is wrong and what would be right.
    pub problem: String,
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.problem)
    }
}

impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for SettingError {}

/// By name; omniORB's and older spellings are understood, too.
fn find(name: &str) -> Option<&'static Setting> {
    let name = match name {
        "endPoint" | "Endpoint" | "EndPoint" => "ListenEndpoints",
        "maxGIOPVersion" => "MaxGIOPVersion",
        "clientCallTimeOutPeriod" => "RoundTripTimeout",
        "giopMaxMsgSize" => "MaxMessage",
        "LaneEndpoint" => "LaneListenEndpoints",
        name => name,
    };
    SETTINGS
        .iter()
        .find(|setting| setting.name.eq_ignore_ascii_case(name))
}

fn unknown(name: &str) -> String {
    let lower = name.to_lowercase();
    let near = SETTINGS.iter().find(|setting| {
        let known = setting.name.to_lowercase();
        known.starts_with(&lower) || lower.starts_with(&known) || distance(&known, &lower) <= 2
    });
    match near {
        Some(near) => format!("no such option; did you mean -ORB{}?", near.name),
        None => {
            let names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
            format!("no such option; there are -ORB{}", names.join(", -ORB"))
        }
    }
}

/// Edits between two short words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

pub(crate) fn positive(text: &str) -> Result<usize, String> {
    match number(text)? {
        0 => Err("expected a number of at least 1".to_owned()),
        n => Ok(n),
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("expected 0 or 1".to_owned()),
    }
}

/// A limit that zero switches off.
fn or_none(text: &str) -> Result<Option<usize>, String> {
    number(text).map(|n| (n != 0).then_some(n))
}

/// A time of which zero would mean that nothing ever works.
fn some_milliseconds(text: &str) -> Result<Duration, String> {
    positive(text).map(|n| Duration::from_millis(n as u64))
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    number(text).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_giop::Violation;

    fn take(args: &[&str]) -> Result<(Options, Vec<String>), SettingError> {
        let mut options = Options::default();
        let rest = options.take_args(args.iter().map(|arg| (*arg).to_owned()))?;
        Ok((options, rest))
    }

    #[test]
    fn orb_arguments_are_taken_and_others_left() {
        let (options, rest) = take(&[
            "prog",
            "-ORBInitRef",
            "A=corbaloc::h/A",
            "-x",
            "-ORBRoundTripTimeout=250",
        ])
        .unwrap();
        assert_eq!(rest, ["prog", "-x"]);
        assert_eq!(
            options.init_refs,
            [("A".to_owned(), "corbaloc::h/A".to_owned())]
        );
        assert_eq!(options.round_trip_timeout, Some(Duration::from_millis(250)));
    }

    #[test]
    fn an_unknown_argument_is_an_error_that_helps() {
        let error = take(&["-ORBInitReff", "x"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ORBInitReff: no such option; did you mean -ORBInitRef?"
        );
    }

    #[test]
    fn a_bad_value_names_setting_and_value() {
        let error = take(&["-ORBConcurrency", "pool"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "-ORBConcurrency pool: expected thread-per-connection, reactive, leader-followers:N, thread-per-request:N or \
             worker-pool:N:QUEUE"
        );
    }

    #[test]
    fn a_missing_value_is_an_error() {
        assert!(
            take(&["-ORBListenEndpoints"])
                .unwrap_err()
                .to_string()
                .contains("needs a value")
        );
    }

    #[test]
    fn limits_are_set_by_the_names_that_errors_give() {
        let (options, _) = take(&[
            "-ORBMaxMessage=100",
            "-ORBMaxPartialMessages=3",
            "-ORBMaxPartialOctets=400",
            "-ORBMaxDepth=9",
            "-ORBKeptCapacity=0",
            "-ORBMaxIdleConnections=1",
        ])
        .unwrap();
        let limits = &options.limits;
        let Err(Violation::Limit { limit, setting, .. }) = limits.check_outgoing(101) else {
            panic!("101 octets are more than 100");
        };
        assert_eq!((limit, find(setting).is_some()), (100, true));
        assert_eq!(limits.max_partial_messages, 3);
        assert_eq!(limits.max_partial_octets, 400);
        assert_eq!(limits.cdr.max_depth, 9);
        assert_eq!(limits.kept_capacity, 0);
        assert_eq!(options.max_idle_connections, 1);
    }

    #[test]
    fn the_spellings_of_other_orbs_work() {
        let (options, _) = take(&["-ORBendPoint", "giop:tcp:127.0.0.1:2809"]).unwrap();
        assert_eq!(options.listen[0].port, 2809);
    }
}
