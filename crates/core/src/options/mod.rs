//! Options of an ORB: one table yields the struct's defaults, `-ORB` arguments, `OXORB_`
//! environment variables and their documentation.

mod class_pacing;
mod collocation;
mod compatible;
mod concurrency;
mod environment;
mod filters;
mod forwards;
mod lane_resources;
mod named;
mod peers;
mod reactor;
mod settings;
mod strategies;
mod value;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oxorb_cdr::{ByteOrder, CharSet};
use oxorb_giop::MessageLimits;
use oxorb_object::{Ior, SystemException, Version};
use oxorb_transport::{
    Access, Endpoint, EndpointError, Multicast, Pages, Properties, Publish, Security,
};

pub use self::named::{FILE_SETTINGS, SettingError};
pub use self::peers::{PEER_OPTIONS, PeerOption, PeerOptionMeaning};
pub use self::settings::{SETTINGS, Setting};
pub(crate) use self::value::positive;
use crate::interceptor::access_rules::AccessRules;
use crate::monitoring::LogLevel;
use crate::policy::LargePayloads;
use crate::protocol::Protocols;
use crate::threads::rt::RealTime;
pub use class_pacing::ClassPacing;
pub use collocation::Collocation;
pub use compatible::IncompatibleOptions;
pub(crate) use concurrency::CONCURRENCY;
pub use concurrency::Concurrency;
pub use filters::{ArrivingRequest, PoolThread, ThreadFilter, ThreadFilters};
use forwards::ForwardCheck;
pub use lane_resources::{ArenaFull, CallbackThreads};
pub use reactor::ReactorChoice;
pub use strategies::{Demultiplexing, OperationSearch};
pub(crate) use value::MIN_FRAGMENT;

/// Strategy by which clients share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientConnections {
    /// Each thread has its own connection to each server, and uses it without a lock. For real time: connect before the
    /// first deadline with [`Ref::validate_connection`](crate::Ref::validate_connection).
    Private,
    /// Threads take an idle connection and put it back. There are as many connections as concurrent calls, and each
    /// call takes two short locks.
    Cached,
    /// All threads share one connection to each server, and a thread of the ORB reads it for them all ("active
    /// connection"). Each call takes locks, and waits for two thread switches.
    Multiplexed,
    /// All threads share one connection to each server, and one of the waiting threads reads it for the others
    /// ("leader/followers"). Each call takes locks.
    LeaderFollowers,
}

/// Configuration of one ORB. Made by the builder, fixed once the ORB runs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Protocols that the ORB speaks, in order of preference. Change them by [`add_protocol`](Self::add_protocol), or
    /// before endpoints are parsed with them.
    pub protocols: Protocols,
    /// Settings, by name and text, that name endpoints of unknown protocols, which may still be added.
    pub(crate) unread: Vec<(&'static str, String)>,
    /// Endpoints to listen on. If empty, the ORB listens on one port, chosen by the system, on all interfaces, which is
    /// opened when the first object needs an address.
    pub listen: Vec<Endpoint>,
    /// Hosts that references contain instead of the addresses of this host: for servers behind NAT, in containers, and
    /// with several interfaces. If empty, references contain every address of this host to which others can connect.
    pub publish: Vec<Publish>,
    /// `Name=URL` pairs for initial references.
    pub init_refs: Vec<(String, String)>,
    /// URL below which unlisted initial references are resolved.
    pub default_init_ref: Option<String>,
    /// Objects to whose servers the ORB connects when it is created: names of initial references, or URLs.
    pub preconnect: Vec<String>,
    /// Whether `preconnect` also opens the connections that asynchronous calls share.
    pub preconnect_asynchronous: bool,
    /// Names of the protocols that the ORB prefers, the most preferred first. Calls use this order if a reference
    /// offers several protocols; an ORB without configured endpoints listens with these protocols. If empty, there is
    /// no preference.
    pub preferred: Vec<String>,
    /// Strategy by which POAs find the object of a key, unless their policies name one.
    pub demultiplexing: Demultiplexing,
    /// Strategy by which skeletons find the operation of a request that does not carry its index.
    pub operation_search: OperationSearch,
    /// Threads that run the reply handlers of asynchronous calls.
    pub callback_threads: CallbackThreads,
    /// Size in octets of the memory that each serving thread keeps for decoded values of `@borrowed` parameters; lanes
    /// allocate it from the start, other threads with their first such request. At least 1,024.
    pub value_arena: usize,
    /// Treatment of a request whose values need more memory.
    pub value_arena_full: ArenaFull,
    /// Path of calls to objects of this ORB.
    pub collocation: Collocation,
    /// Longest time that a two-way call may take; `None` if unlimited.
    pub round_trip_timeout: Option<Duration>,
    /// Longest time that connecting to a server may take.
    pub connect_timeout: Duration,
    /// Maximum total size in octets of the oneways that wait for each server and priority under `SyncScope::None`; a
    /// further oneway raises TRANSIENT, COMPLETED_NO.
    pub buffered_oneways: usize,
    /// Whether the clocks of this machine and of its servers are synchronised. If so, relative time limits are sent as
    /// end times as well, which other ORBs understand.
    pub synchronized_clocks: bool,
    /// Longest time that a client may stall in mid-message, or leave its replies unread.
    pub stall_timeout: Duration,
    /// Strategy by which clients share connections.
    pub client_connections: ClientConnections,
    /// Whether a connection on which a request was cut off is replaced only after the server has read it to its end
    /// ([`ClientConnections::LeaderFollowers`]). Until then calls raise TRANSIENT, minor `EARLIER_UNREAD`, and do not
    /// run. This setting prevents a oneway from overtaking an earlier one. Default false.
    pub ordered_reconnect: bool,
    /// Strategy by which requests are assigned to threads.
    pub concurrency: Concurrency,
    /// Strategy by which threads that serve several connections wait for the next request.
    pub reactor: ReactorChoice,
    /// Filters that pick the threads that serve requests.
    pub thread_filters: ThreadFilters,
    /// Time that a leader/followers worker stays with a connection that fell silent, while another worker watches the
    /// other connections. A longer time saves system calls for clients that pause between calls; if all other workers
    /// become busy meanwhile, further connections wait this much longer.
    pub worker_stay: Duration,
    /// Time for which a thread of a client or a server polls a connection for input before it sleeps. Only for
    /// transports that can be polled.
    pub spin: Duration,
    /// Handling of the memory pages of connections over shared memory, for client and server. If the system refuses a
    /// connection's pages, the connection is closed.
    pub shared_pages: Pages,
    /// Longest time that a client connection may be idle before it is checked (one system call)
    /// ahead of its next use, so that a restarted server costs no failed call.
    pub trust_idle: Duration,
    /// Maximum rates of requests over connections of each communication class (`ClassPacing`).
    pub class_pacing: ClassPacing,
    /// Settings of messages to groups.
    pub multicast: Multicast,
    /// Certificates, keys and trusted authorities, for protocols with transport security, such as TLS.
    pub security: Security,
    /// Rules about which clients may call which operations. If `None`, every client that may connect may call
    /// everything. A running ORB with rules can [replace](crate::Orb::replace_access_rules) them.
    pub access_rules: Option<Arc<AccessRules>>,
    /// File with these rules, if it contains nothing else (`AccessRules`); a running ORB can read it again. A program
    /// that sets `access_rules` to other rules also sets this to `None`; otherwise a reload replaces these rules by
    /// those of the file.
    pub access_file: Option<PathBuf>,
    /// Whether the ORB listens, publishes and calls only with protocols that have transport security, such as TLS.
    pub secure_only: bool,
    /// Maximum number of connections that a server accepts. For a further one, the connection that has been idle
    /// longest is closed in order (by CloseConnection; its client connects again when it needs to), or else the one
    /// that has stalled longest in mid-message; if there is none, the new one is closed. Each costs a descriptor, about
    /// 10 KiB, and a thread if it has its own.
    pub max_connections: usize,
    /// Maximum number of connections from one client address. For a further one, an idle or stalled connection of that
    /// client is closed in order; if there is none, the new one is closed, so that its client raises TRANSIENT or tries
    /// another server. If `None`, only `max_connections` limits them. All clients behind one NAT count together.
    pub max_connections_per_client: Option<usize>,
    /// Maximum number of requests of one client address that run at one time; a further one raises TRANSIENT (minor
    /// `TOO_MANY_REQUESTS`) and is not run; a oneway is dropped. If `None`, only `max_requests_per_connection` limits
    /// them.
    pub max_requests_per_client: Option<usize>,
    /// Maximum number of requests of one connection that run concurrently. If the client sends more before it has an
    /// answer, the further ones wait in the client's socket. If 1, requests run one after another, in order of arrival,
    /// except for callbacks within callbacks. Threadpools start no further threads for this.
    pub max_requests_per_connection: usize,
    /// Maximum memory in octets that one client address may take; `None` for no limit. Items of less than 32 KiB are
    /// not counted. The limit covers:
    ///
    /// - large messages while they arrive and are served, at most two fifths of the limit; a further one waits in the
    ///   client's socket, at most twice `stall_timeout`;
    /// - the values of requests until these are answered; a request whose values do not fit raises NO_MEMORY;
    /// - large replies until the client has read them;
    /// - buffers that the client's connections keep, at most a sixteenth of the limit.
    pub max_octets_per_client: Option<usize>,
    /// Maximum part of that memory, in octets, that large replies to one client address may take. A request whose reply
    /// is known to be large and does not fit waits for at most `reply_wait`; a large reply that was made meanwhile
    /// becomes NO_MEMORY, COMPLETED_YES. A single reply is always sent. `None` for no separate limit.
    pub max_reply_octets_per_client: Option<usize>,
    /// Longest time that a request waits until its client has read earlier large replies; after that time the request
    /// raises TRANSIENT (minor `TOO_MANY_REPLIES`) and is not run. Lanes of threadpools, whose threads serve other
    /// clients, do not wait.
    pub reply_wait: Duration,
    /// Longest time that a client's connection may be idle before the server closes it in order; `None` if unlimited.
    /// The client's next call opens a new connection, and pays the cost of connecting.
    pub idle_timeout: Option<Duration>,
    /// Time without traffic after which the system probes whether a peer still exists; if the peer does not answer
    /// within the same time again, its connection is closed. If `None`, the system never probes.
    pub keep_alive: Option<Duration>,
    /// Rules about who may connect to an endpoint without its own rules.
    pub access: Access,
    /// Whether a connection to a server is offered to that server for its requests to objects here (bidirectional
    /// GIOP): callbacks then need no connection in the other direction, through NAT or firewalls. Calls of one priority
    /// to a server then share the offered connection; those of other priorities have their own. An offer lets that
    /// server call any object here unless its POA forbids it.
    pub offer_bidirectional: bool,
    /// Whether clients' offers of their connections for requests in the other direction are accepted; a policy of the
    /// POA takes precedence.
    pub accept_bidirectional: bool,
    /// Check of the targets of forwards; see [`check_forwards`](Self::check_forwards).
    pub(crate) forward_check: ForwardCheck,
    /// Maximum number of idle connections kept per server address (`ClientConnections::Cached`).
    pub max_idle_connections: usize,
    /// Maximum number of connections to servers that are kept, over all servers (`ClientConnections::Cached`): when a
    /// further one is opened, the one that has been idle longest is closed. Connections in use are never closed, so the
    /// limit may be exceeded for a while. `None` for no limit.
    pub max_client_connections: Option<usize>,
    /// Longest time that a connection to a server may be idle before it is closed (`ClientConnections::Cached`); the
    /// next call after that pays the cost of reconnecting. `None` if unlimited. Default: ten minutes. A background
    /// thread closes these connections, and those already closed by the server; it runs only while there are
    /// connections.
    pub client_idle_timeout: Option<Duration>,
    /// Highest GIOP version to publish and to speak.
    pub max_giop: Version,
    /// Native code set of `char` and `string`: references name it, and this ORB prefers it. The other code set is
    /// understood as well, and text in Rust is Unicode with either.
    pub native_chars: CharSet,
    /// Whether strings are sent in UTF-8 to every server that understands it, even if the server's native code set is
    /// another.
    pub prefer_utf8: bool,
    /// Byte order of sent messages. An order other than the machine's own costs time.
    pub byte_order: ByteOrder,
    /// Size in octets above which sequences of octets or numbers are sent from the caller's memory; shorter ones are
    /// copied.
    pub gather_above: usize,
    /// Side that copies large octet sequences which the IDL marks `@in_place`, where client and
    /// server share memory.
    pub large_payloads: LargePayloads,
    /// Length in octets above which messages are sent as GIOP 1.2 fragments; `None` for no fragments.
    pub fragment_size: Option<usize>,
    /// Maximum number of requests that wait at one holding POA manager, at one POA with a single thread, or for the
    /// main thread; a further one raises TRANSIENT.
    pub max_held: usize,
    /// Longest time of each of these waits:
    ///
    /// - of a request that `max_held` counts, which then raises TRANSIENT;
    /// - of a request for its start time; with a later start time it raises TRANSIENT at once;
    /// - of the object adapter for the end of running requests, if a caller asks it to wait.
    ///
    /// More than 50 years count as 50 years.
    pub hold_time: Duration,
    /// Whether the times at which requests pass each stage are recorded, in all threads of this process: see
    /// [`probe`](crate::probe), which can also switch that while the ORB runs.
    pub time_probes: bool,
    /// Maximum number of requests that servants keep to answer them later (AMH) at one time; a further one raises
    /// TRANSIENT (minor `TOO_MANY_UNANSWERED`) and is not run. Each takes some hundred octets.
    pub max_unanswered: usize,
    /// Limits on messages that are received or sent.
    pub limits: MessageLimits,
    /// Priorities, and their mapping to the scheduler.
    pub realtime: RealTime,
    /// Least urgent level of log lines that are written.
    pub log_level: LogLevel,
    /// File that log lines are appended to; `None` for standard error.
    pub log_file: Option<Arc<File>>,
    /// Address at which `GET /metrics` is answered over HTTP, with counts as OpenMetrics text: see
    /// [`Orb::metrics`](crate::Orb::metrics). Port 0 stands for any free port. If `None`, no metrics are served, and
    /// calls and requests are not counted.
    pub metrics: Option<SocketAddr>,
    /// Lines about options of other ORBs and variables that are ignored; logged when the ORB starts.
    pub(crate) ignored: Vec<String>,
}

/// Default of `max_connections_per_client`: half of that of `max_connections`.
pub(crate) const CONNECTIONS_PER_CLIENT: usize = 500;

impl Default for Options {
    fn default() -> Self {
        Options {
            protocols: Protocols::default(),
            unread: Vec::new(),
            listen: Vec::new(),
            publish: Vec::new(),
            init_refs: Vec::new(),
            default_init_ref: None,
            preconnect: Vec::new(),
            preconnect_asynchronous: false,
            preferred: Vec::new(),
            demultiplexing: Demultiplexing::default(),
            operation_search: OperationSearch::default(),
            callback_threads: CallbackThreads::default(),
            value_arena: 64 << 10,
            value_arena_full: ArenaFull::default(),
            collocation: Collocation::default(),
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
            spin: Duration::ZERO,
            shared_pages: Pages::default(),
            trust_idle: Duration::from_millis(5),
            class_pacing: ClassPacing::default(),
            multicast: Multicast::default(),
            security: Security::default(),
            access_rules: None,
            access_file: None,
            secure_only: false,
            max_connections: 1000,
            max_connections_per_client: Some(CONNECTIONS_PER_CLIENT),
            max_requests_per_client: None,
            ordered_reconnect: false,
            max_requests_per_connection: 64,
            max_octets_per_client: Some(240 << 20),
            max_reply_octets_per_client: Some(180 << 20),
            reply_wait: Duration::from_secs(20),
            idle_timeout: None,
            keep_alive: Some(Duration::from_secs(60)),
            access: Access::default(),
            offer_bidirectional: false,
            accept_bidirectional: false,
            forward_check: ForwardCheck::default(),
            max_idle_connections: 16,
            max_client_connections: None,
            client_idle_timeout: Some(Duration::from_secs(600)),
            max_giop: Version::V1_2,
            native_chars: CharSet::Utf8,
            prefer_utf8: false,
            byte_order: ByteOrder::NATIVE,
            gather_above: 4096,
            large_payloads: LargePayloads::default(),
            fragment_size: None,
            max_held: 256,
            max_unanswered: 10_000,
            hold_time: Duration::from_secs(30),
            time_probes: false,
            limits: MessageLimits::default(),
            realtime: RealTime::default(),
            log_level: LogLevel::Warn,
            log_file: None,
            metrics: None,
            ignored: Vec::new(),
        }
    }
}

impl Options {
    /// Adds endpoints to listen on, as text: `iiop://127.0.0.1:0`, several separated by `;`.
    ///
    /// # Errors
    /// [`EndpointError`] for the first endpoint that none of the [`protocols`](Self::protocols) understands.
    pub fn listen_on(&mut self, endpoints: &str) -> Result<(), EndpointError> {
        self.listen.extend(self.protocols.parse(endpoints)?);
        Ok(())
    }

    /// Sets a check of the targets of forwards (LOCATION_FORWARD). If `check` returns an exception, the call raises it
    /// and does not follow the forward. A gateway thus calls only those addresses that it permits. By default, all
    /// forwards are followed.
    pub fn check_forwards(
        &mut self,
        check: impl Fn(&Ior) -> Result<(), SystemException> + Send + Sync + 'static,
    ) {
        self.forward_check = ForwardCheck::new(check);
    }

    /// Parses the settings again that were kept because they may name endpoints of a protocol that was not yet added.
    pub(crate) fn read_unread(&mut self) -> Result<(), SettingError> {
        for (setting, text) in std::mem::take(&mut self.unread) {
            self.set(setting, &text)?;
        }
        Ok(())
    }

    /// Checks that every setting was understood, which fails if a setting names endpoints of a protocol that was never
    /// added.
    ///
    /// # Errors
    /// The first setting that was not understood.
    pub fn check_protocols(&self) -> Result<(), SettingError> {
        let Some((setting, text)) = self.unread.first() else {
            return self.preferred_protocols().map(drop);
        };
        let at = endpoints_of(setting, text);
        let problem = match self.protocols.parse(at) {
            Err(error) => error.to_string(),
            Ok(_) => "its protocol was not added with add_protocol".to_owned(),
        };
        let setting = format!("-ORB{setting} {text}");
        Err(SettingError { setting, problem })
    }

    /// Keeps a setting for later if it names endpoints of a protocol that may still be added.
    pub(crate) fn keep_unread(&mut self, setting: &'static str, text: &str) -> bool {
        let later = self.protocols.may_know_later(endpoints_of(setting, text));
        if later {
            self.unread.push((setting, text.to_owned()));
        }
        later
    }

    /// Returns the properties of every connection.
    pub(crate) fn connection(&self) -> Properties {
        Properties { keep_alive: Some(self.keep_alive), ..self.waiting() }
    }

    /// Returns the properties without which a connection is useless, if any.
    pub(crate) fn indispensable(&self) -> Option<Properties> {
        with_pages(self.shared_pages)
    }

    /// Returns the properties without which a connection at an endpoint is useless, if any.
    pub(crate) fn indispensable_at(&self, endpoint: &Endpoint) -> Option<Properties> {
        let own = endpoint.option(Endpoint::PAGES);
        with_pages(own.and_then(|pages| pages.parse().ok()).unwrap_or(self.shared_pages))
    }

    /// Returns the large-payload policy for requests at an endpoint, unless the object has its own policy.
    pub(crate) fn payloads_at(&self, endpoint: &Endpoint) -> LargePayloads {
        let own = endpoint.option(Endpoint::PAYLOADS);
        own.and_then(|mode| mode.parse().ok()).unwrap_or(self.large_payloads)
    }

    /// Returns the properties that determine how a thread waits at a connection.
    pub(crate) fn waiting(&self) -> Properties {
        Properties {
            busy_poll: Some(self.spin).filter(|time| !time.is_zero()),
            ..Properties::default()
        }
    }
}

/// Returns the endpoints in the value of a setting; for lanes they follow the lane.
fn endpoints_of<'t>(setting: &str, text: &'t str) -> &'t str {
    match text.split_once(['=', ' ']) {
        Some((_, endpoints)) if setting == LANE_ENDPOINTS => endpoints.trim(),
        _ => text,
    }
}

/// Settings that name endpoints.
pub(crate) const ENDPOINTS: &str = "ListenEndpoints";
pub(crate) const LANE_ENDPOINTS: &str = "LaneListenEndpoints";

/// Returns properties that name pages, unless these are the default of connections.
fn with_pages(pages: Pages) -> Option<Properties> {
    (pages != Pages::OnDemand).then(|| Properties { pages: Some(pages), ..Properties::default() })
}
