//! The table of everything that can be set by argument or environment.

use std::fs::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::setting;
use oxorb_transport::{AccessError, Publish};

use super::collocation::{COLLOCATION, Collocation};
use super::strategies::{DEMULTIPLEXING, Demultiplexing, names};
use super::value::{
    byte_order, char_set, client_connections, fragment_size, giop_version, milliseconds, number,
    or_none, positive, priority_mapping, scheduling_class, some_milliseconds, yes_or_no,
    zero_or_one,
};
use super::{ENDPOINTS, LANE_ENDPOINTS, Options, ReactorChoice};
use crate::concurrency::{CONCURRENCY, Concurrency};
use crate::rt::{LaneEndpoints, LaneNumber};

/// One thing that can be set by argument or environment.
pub struct Setting {
    /// After `-ORB`, and upper-cased after `OXORB_`.
    pub name: &'static str,
    /// What it takes, as `--help` would print it.
    pub value: &'static str,
    /// One sentence.
    pub help: &'static str,
    pub(super) apply: fn(&mut Options, &str) -> Result<(), String>,
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
        name: "Preconnect",
        value: "OBJECT[;OBJECT...]",
        help: "Objects, by name of an initial reference or by URL, to whose servers connections are opened when the ORB is made, one for each band or lane, so that no call has to connect; an object that cannot be reached is an error then. Private connections are those of the thread that makes the ORB: others call Orb::preconnect. May be given several times.",
        apply: |options, text| {
            let objects = text.split(';').map(str::trim);
            let objects = objects.filter(|object| !object.is_empty());
            options.preconnect.extend(objects.map(str::to_owned));
            Ok(())
        },
    },
    Setting {
        name: "PreconnectAsynchronous",
        value: "0|1",
        help: "Whether the connections that asynchronous calls share, and the threads that read them, are there ahead for the objects of Preconnect, too: one for each band or lane. Default 0.",
        apply: |options, text| {
            options.preconnect_asynchronous = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: ENDPOINTS,
        value: "ENDPOINTS",
        help: "Where to listen: iiop://HOST:PORT[/OPTION=VALUE&...][;...], or another protocol of the ORB, such as uiop:///PATH.",
        apply: |options, text| match options.keep_unread(ENDPOINTS, text) {
            true => Ok(()),
            false => options.listen_on(text).map_err(|error| error.to_string()),
        },
    },
    Setting {
        name: "Protocols",
        value: "NAME[,NAME...]",
        help: "Protocols in order of preference, by the names that endpoints begin with. Calls take the first that the reference offers and that answers, after these any other; an ORB that is told of no endpoint listens with each of them. Policies of threads, objects and calls go before it. Default: no preference, and iiop to listen with.",
        apply: |options, text| {
            options.preferred = names(text);
            Ok(())
        },
    },
    Setting {
        name: "Demultiplexing",
        value: DEMULTIPLEXING,
        help: "How POAs that name no lookup of their own find the object of a key: the key says where it is, by hashing, or by a perfect hash where the ids are known when the POA is made. Default active.",
        apply: |options, text| {
            options.demultiplexing = Demultiplexing::parse(text)?;
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
        name: "Collocation",
        value: COLLOCATION,
        help: "How calls to objects of the caller's own ORB run: the stub calls the servant, by a message in the caller's thread, or over a connection. Objects on lanes run in the caller's thread only where it is one of the lane. TAO's values global, per-orb and no are understood. Default direct.",
        apply: |options, text| {
            options.collocation = Collocation::parse(text)?;
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
        help: "Most that oneways with SYNC_NONE may hold for each server and priority. Default 1 MiB.",
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
            options.synchronized_clocks = yes_or_no(text)?;
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
            options.client_connections = client_connections(text)?;
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
        help: "Most connections a server accepts from one address; 0: no such limit. Default 500.",
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
        name: "MaxRequestsPerConnection",
        value: "N",
        help: "Most requests of one connection that run side by side; 1: one after another, in order. Default 64.",
        apply: |options, text| {
            options.max_requests_per_connection = positive(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxOctetsPerClient",
        value: "OCTETS",
        help: "Most memory that messages, values, large replies and kept buffers of one address take together; 0: no \
               limit. Default 240 MiB.",
        apply: |options, text| {
            options.max_octets_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "MaxReplyOctetsPerClient",
        value: "OCTETS",
        help: "Most of that which large replies hold until the client has taken them; 0: no limit of their own. \
               Default 180 MiB.",
        apply: |options, text| {
            options.max_reply_octets_per_client = or_none(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ReplyWait",
        value: "MS",
        help: "How long a request waits until its client has taken earlier large replies, in milliseconds; 0: not at \
               all. Default 20000.",
        apply: |options, text| {
            options.reply_wait = Duration::from_millis(number(text)?);
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
        help: "Who may connect: allow NETWORK and deny NETWORK, separated by commas; also uid:NUMBER and gid:NUMBER, for processes of this host, and all.",
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
            options.offer_bidirectional = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "AcceptBiDirectionalGIOP",
        value: "0|1",
        help: "Whether clients are called back over their connections if they offer it. Default 0.",
        apply: |options, text| {
            options.accept_bidirectional = zero_or_one(text)?;
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
            options.max_giop = giop_version(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PreferUtf8",
        value: "0|1",
        help: "Clients send strings in UTF-8 to every server that lists it as a conversion set, though the server's native \
               set be narrower, such as TAO's and omniORB's ISO-8859-1: so every character passes. A single char must then \
               be ASCII. Default 0: the server's native set, as the specification says.",
        apply: |options, text| {
            options.prefer_utf8 = zero_or_one(text)?;
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
            options.native_chars = char_set(text)?;
            Ok(())
        },
    },
    Setting {
        name: "ByteOrder",
        value: "native|big|little",
        help: "Byte order of what is sent; for tests of peers. Default native.",
        apply: |options, text| {
            options.byte_order = byte_order(text)?;
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
            options.fragment_size = fragment_size(text)?;
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
        help: "Scheduling class of the ORB's threads, and of application threads that are given a priority. Default SCHED_OTHER: priorities do not reach the scheduler.",
        apply: |options, text| {
            options.realtime.class = scheduling_class(text)?;
            Ok(())
        },
    },
    Setting {
        name: "PriorityMapping",
        value: "direct|linear|continuous",
        help: "Which priority of the scheduling class stands for a CORBA priority. Default linear.",
        apply: |options, text| {
            options.realtime.mapping = priority_mapping(text)?;
            Ok(())
        },
    },
    Setting {
        name: "TimeProbes",
        value: "0|1",
        help: "Whether requests leave behind when they passed which stage (under 50 ns for each). Default 0.",
        apply: |options, text| {
            options.time_probes = zero_or_one(text)?;
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
        name: LANE_ENDPOINTS,
        value: "POOL:LANE=ENDPOINTS",
        help: "Where a lane of a threadpool listens (TAO's form with a space is understood, too); * for all. Default: the ports that follow those of -ORBListenEndpoints, in the order in which threadpools are created, where these are fixed; otherwise ports that the system chooses.",
        apply: |options, text| {
            if !options.keep_unread(LANE_ENDPOINTS, text) {
                let lane = LaneEndpoints::parse(text, &options.protocols)?;
                options.realtime.lane_endpoints.push(lane);
            }
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
            options.realtime.lock_memory = zero_or_one(text)?;
            Ok(())
        },
    },
    Setting {
        name: "LogLevel",
        value: "off|error|warn|info|debug",
        help: "Least urgent log lines that are written, for incidents that no observer takes. Default warn.",
        apply: |options, text| {
            options.log_level = text.parse()?;
            Ok(())
        },
    },
    Setting {
        name: "LogFile",
        value: "PATH",
        help: "File that log lines are appended to. Default: standard error.",
        apply: |options, text| {
            let opened = OpenOptions::new().append(true).create(true).open(text);
            options.log_file = Some(Arc::new(opened.map_err(|error| error.to_string())?));
            Ok(())
        },
    },
    Setting {
        name: setting::MAX_MESSAGE,
        value: "OCTETS",
        help: "The longest message to accept and to send. Default 64 MiB.",
        apply: |options, text| {
            let octets = positive(text)?;
            options.limits.max_message = octets;
            // A message that may come should be readable.
            let decoded = u32::try_from(octets.saturating_mul(4)).unwrap_or(u32::MAX);
            let cdr = &mut options.limits.cdr;
            cdr.max_memory = cdr.max_memory.max(decoded);
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
        name: "MaxDecoded",
        value: "OCTETS",
        help: "Most memory that the values of one message may take, decoded. Default 256 MiB, and at least four times \
               MaxMessage where that is set before.",
        apply: |options, text| {
            options.limits.cdr.max_memory = positive(text)?.try_into().unwrap_or(u32::MAX);
            Ok(())
        },
    },
    Setting {
        name: "MaxText",
        value: "OCTETS",
        help: "Most text that values and types become as JSON, for one request or answer. Default 64 MiB.",
        apply: |options, text| {
            options.limits.cdr.max_text = positive(text)?.try_into().unwrap_or(u32::MAX);
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
