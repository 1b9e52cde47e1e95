//! TAO's options, as its documentation (docs/Options.html) lists them.

use super::{
    PeerOption, PeerOptionMeaning, alone, checked, ignored, mapped, refused, same, seconds,
    verbosity,
};

const MULTICAST: &str =
    "services are not located by multicast; -ORBInitRef NAME=URL sets their addresses";
const SOCKET_BUFFERS: &str = "the system adapts the sizes of socket buffers to the connection";
const ONE_CONFIGURATION: &str = "each ORB has its own configuration";
const RETRIES: &str = "a request that certainly did not run is sent again if the reference has another address; the \
                       policies Retry and RebindMode limit the number of attempts";
const DEMULTIPLEXING: &str =
    "objects and POAs are found by index, or by one hash if the application chooses the ids";
const ALLOCATORS: &str = "buffers are reused, and nothing is allocated in steady operation";

/// Options of `CORBA::ORB_init`.
pub(super) const COMMAND_LINE: &[PeerOption] = &[
    PeerOption { name: "SvcConf", takes_value: true, meaning: PeerOptionMeaning::ServiceFile },
    PeerOption {
        name: "SvcConfDirective",
        takes_value: true,
        meaning: PeerOptionMeaning::ServiceDirective,
    },
    ignored("ServiceConfigLoggerKey", "-ORBLogFile names a file for the log"),
    alone(ignored("SkipServiceConfigOpen", "a svc.conf is read only if an option names it")),
    alone(ignored("IgnoreDefaultSvcConfFile", "a svc.conf is read only if an option names it")),
    ignored("Gestalt", ONE_CONFIGURATION),
    alone(ignored("Debug", "-ORBLogLevel debug logs the most")),
    mapped("DebugLevel", "LogLevel", verbosity, "0 error, 1 to 4 warn, 5 to 9 info, 10 debug"),
    ignored("VerboseLogging", "each line of a log file contains the time and the level"),
    ignored("HandleLoggingStrategyEvents", "log files are rotated by the system (logrotate)"),
    ignored("ObjRefStyle", "to_ior() and to_corbaloc() print a reference in either form"),
    mapped("MaxMessageSize", "FragmentSize", |value| Ok(Some(value.to_owned())), ""),
    mapped(
        "CollocationStrategy",
        "Collocation",
        |value| match value {
            "thru_poa" => Ok(Some("marshalled".to_owned())),
            "direct" | "best" => Ok(Some("direct".to_owned())),
            _ => Err("expected thru_poa, direct or best".to_owned()),
        },
        "thru_poa, direct, best",
    ),
    checked(
        "AMICollocation",
        |value| {
            match value {
            "0" => Err("asynchronous calls to objects of the caller's ORB run in the caller's thread, as synchronous \
                        ones do: -ORBCollocation none sends both over connections"
                .to_owned()),
            _ => Ok(()),
        }
        },
        "always as with 1; -ORBCollocation none sends all calls over connections",
    ),
    checked(
        "Nodelay",
        |value| match value {
            "0" => Err("small messages are never held back (TCP_NODELAY is always set)".to_owned()),
            _ => Ok(()),
        },
        "always as with 1",
    ),
    ignored("RcvSock", SOCKET_BUFFERS),
    ignored("SndSock", SOCKET_BUFFERS),
    ignored("StdProfileComponents", "references always name ORB type and code sets"),
    ignored("NegotiateCodesets", "code sets are always negotiated"),
    ignored("SingleReadOptimization", "each read takes as many octets as have arrived"),
    ignored("UseLocalMemoryPool", ALLOCATORS),
    ignored("AcceptErrorDelay", "the ORB tries to accept again automatically"),
    mapped(
        "DottedDecimalAddresses",
        "EndPointPublish",
        |value| match value {
            "0" => Ok(Some("hostname".to_owned())),
            _ => Ok(None),
        },
        "1 is the default; 0 publishes the host name",
    ),
    refused(
        "IIOPClientPortBase",
        "connections leave from ports that the system chooses: set the \
             range with sysctl net.ipv4.ip_local_port_range",
    ),
    ignored("IIOPClientPortSpan", "see -ORBIIOPClientPortBase"),
    ignored("NoServerSideNameLookups", "host names of clients are never resolved"),
    same("Endpoint", "ListenEndpoints"),
    ignored("PreferredInterfaces", "the system's routes select the interface"),
    refused(
        "EnforcePreferredInterfaces",
        "the system's routes select the interface: set one with `ip route`",
    ),
    mapped(
        "Keepalive",
        "KeepAlive",
        |value| match value {
            "0" => Ok(Some("0".to_owned())),
            _ => Ok(None),
        },
        "1 is the default",
    ),
    refused("DontRoute", "set dont_route of TCP in the policy ClientProtocol of the program"),
    ignored("LingerTimeout", "connections are always closed in an orderly way"),
    ignored("IPHopLimit", "the system's hop limit is used"),
    ignored("IPMulticastLoop", "-ORBMulticast loopback= sets it"),
    same("LaneEndpoint", "LaneListenEndpoints"),
    ignored("ImplRepoServicePort", MULTICAST),
    ignored("MulticastDiscoveryEndpoint", MULTICAST),
    ignored("NameServicePort", MULTICAST),
    ignored("TradingServicePort", MULTICAST),
    refused(
        "UseIMR",
        "there is no Implementation Repository: give the server a fixed port with \
             -ORBListenEndpoints, and persistent references lead to it",
    ),
    ignored("IMREndpointsInIOR", "there is no Implementation Repository"),
    ignored("UseParallelConnects", "addresses of a reference are tried in parallel"),
    ignored("ParallelConnectDelay", "addresses of a reference are tried in parallel"),
    ignored(
        "UseSharedProfile",
        "addresses with the same port share a profile, and both forms are accepted",
    ),
    ignored("PreferIPV6Interfaces", "addresses are tried in the order of the reference"),
    refused(
        "ConnectIPV6Only",
        "use -ORBListenEndpoints iiop://[::]:PORT and -ORBEndPointPublish ipv6",
    ),
    ignored("UseIPV6LinkLocal", "link-local addresses are not published"),
    ignored("AllowZiopNoServerPolicies", "messages are never compressed"),
    ignored("ForwardOnTransientLimit", RETRIES),
    ignored("ForwardOnCommFailureLimit", RETRIES),
    ignored("ForwardOnObjectNotExistLimit", RETRIES),
    ignored("ForwardOnInvObjrefLimit", RETRIES),
    refused(
        "ForwardOnReplyClosedLimit",
        "a request that may have run is never sent again: the application can decide by the completion status",
    ),
    ignored("ForwardDelay", RETRIES),
    ignored("ForwardInvocationOnObjectNotExist", RETRIES),
    ignored("ForwardOnceOnObjectNotExist", RETRIES),
    ignored("ForwardOnceOnCommFailure", RETRIES),
    ignored("ForwardOnceOnTransient", RETRIES),
    ignored("ForwardOnceOnInvObjref", RETRIES),
    ignored("Id", "an ORB has no name; a process can have several ORBs"),
    ignored("ServerId", "there is no Implementation Repository that would query it"),
    alone(refused(
        "Daemon",
        "start the program by a service manager (systemd), or with & in a shell",
    )),
    alone(refused(
        "GIOPlite",
        "specify it for each endpoint: -ORBListenEndpoints giop-lite+tcp://HOST:PORT",
    )),
];

/// Returns the error for a protocol's factory: how an OxORB user chooses protocols instead.
pub(super) fn no_factory(name: &str) -> String {
    format!(
        "there is no {name}: an endpoint chooses the protocol (-ORBListenEndpoints iiops://HOST:PORT, uiop:///PATH, \
         diop://HOST:PORT, miop://GROUP or shm://)"
    )
}

/// Options of `Resource_Factory`, `Advanced_Resource_Factory`, `Server_Strategy_Factory`,
/// `Client_Strategy_Factory` and `RT_ORB_Loader`.
pub(super) const SERVICE_CONFIGURATOR: &[PeerOption] = &[
    ignored("Resources", ONE_CONFIGURATION),
    ignored("ReactorType", "-ORBReactor and -ORBConcurrency select how threads wait"),
    ignored("ReactorThreadQueue", "-ORBConcurrency selects the serving thread"),
    ignored("ReactorMaskSignals", "signals are left to the application"),
    ignored("ReactorRegistry", "-ORBConcurrency selects the serving thread"),
    ignored("ConnectionCacheLock", "private connections need no lock (-ORBClientConnections)"),
    same("ConnectionCacheMax", "MaxClientConnections"),
    ignored("ConnectionCachePurgePercentage", "one connection is closed at a time"),
    ignored("ConnectionPurgingStrategy", "the connection that idles longest is closed"),
    mapped("TransportIdleTimeout", "ClientIdleTimeout", seconds, "in seconds in TAO"),
    ignored("DropRepliesDuringShutdown", "running calls end with BAD_INV_ORDER"),
    ignored("FlushingStrategy", "a message is written by the thread that sends it"),
    ignored("IORParser", "IOR:, corbaloc:, corbaname: and file: are supported"),
    ignored("MuxedConnectionMax", "-ORBClientConnections selects how connections are shared"),
    ignored("OutputCDRAllocator", ALLOCATORS),
    ignored("InputCDRAllocator", ALLOCATORS),
    ignored("AMHResponseHandlerAllocator", ALLOCATORS),
    ignored("AMIResponseHandlerAllocator", ALLOCATORS),
    checked(
        "ProtocolFactory",
        |value| match value {
            "IIOP_Factory" => Ok(()),
            other => Err(no_factory(other)),
        },
        "IIOP_Factory; other protocols are chosen by endpoints",
    ),
    ignored("ZeroCopyWrite", "large sequences are written from their own memory, without a copy"),
    same("NativeCharCodeset", "NativeCharCodeSet"),
    ignored("NativeWcharCodeset", "wide text is sent as UTF-16"),
    same("Concurrency", "Concurrency"),
    ignored("ActiveHintInIds", DEMULTIPLEXING),
    ignored("ActiveHintInPOANames", DEMULTIPLEXING),
    ignored("ActiveObjectMapSize", DEMULTIPLEXING),
    ignored("AllowReactivationOfSystemids", DEMULTIPLEXING),
    ignored("PersistentidPolicyDemuxStrategy", DEMULTIPLEXING),
    ignored("PoaMapSize", DEMULTIPLEXING),
    ignored("SystemidPolicyDemuxStrategy", DEMULTIPLEXING),
    ignored("TransientidPolicyDemuxStrategy", DEMULTIPLEXING),
    ignored("UniqueidPolicyReverseDemuxStrategy", DEMULTIPLEXING),
    ignored("UseridPolicyDemuxStrategy", DEMULTIPLEXING),
    ignored("ThreadFlags", "the settings of a threadpool determine the scheduling of its threads"),
    ignored("ThreadPerConnectionTimeout", "threads are woken when the ORB ends"),
    ignored(
        "ClientConnectionHandler",
        "-ORBClientConnections selects the thread that reads replies",
    ),
    ignored("WaitStrategy", "-ORBClientConnections selects the thread that reads replies"),
    ignored("ConnectionHandlerCleanup", "a broken connection is never used again"),
    ignored("ConnectStrategy", "addresses of a reference are tried in parallel"),
    checked(
        "DefaultSyncScope",
        |value| match value {
            "Transport" => Ok(()),
            _ => Err("set the policy SyncScope of the ORB in the program".to_owned()),
        },
        "Transport only",
    ),
    mapped(
        "TransportMuxStrategy",
        "ClientConnections",
        |value| match value.to_ascii_uppercase().as_str() {
            "EXCLUSIVE" => Ok(Some("cached".to_owned())),
            "MUXED" => Ok(Some("leader-followers".to_owned())),
            _ => Err("expected EXCLUSIVE or MUXED".to_owned()),
        },
        "EXCLUSIVE cached, MUXED leader-followers",
    ),
    same("SchedPolicy", "SchedPolicy"),
    ignored("ScopePolicy", "threads contend with all threads of the system"),
    same("PriorityMapping", "PriorityMapping"),
    ignored("NetworkPriorityMapping", "dscp of a lane marks its packets"),
    same("DynamicThreadIdleTimeout", "DynamicThreadIdleTimeout"),
    ignored(
        "DynamicThreadRunTime",
        "only idle dynamic threads end, and only if -ORBDynamicThreadIdleTimeout is set",
    ),
    ignored("TimePolicyStrategy", "time-outs are measured by the monotonic clock"),
];
