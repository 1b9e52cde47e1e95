//! omniORB's options, as `-ORBhelp` of omniORB 4.2 and 4.3 lists them.

use super::{PeerOption, alone, checked, ignored, mapped, refused, same, seconds, verbosity};

const TRACING: &str = "interceptors can log each call (docs/interceptors.md)";
const LOG_LINE: &str = "each line of a log file contains the time and the level";
const THREADS: &str = "-ORBConcurrency sets the number of serving threads";
const BOOTSTRAP: &str = "use -ORBInitRef NameService=corbaloc::HOST:PORT/NameService";
const INSIDE: &str = "it tunes internals of the other ORB";
const SOCKETS: &str = "the system chooses the sizes of reads, writes and socket buffers";

/// Checks that a transport rule admits all addresses over TCP.
fn any_tcp(value: &str) -> Result<(), String> {
    let mut words = value.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let everybody = words.next() == Some("*");
    let (mut tcp, mut known) = (false, true);
    for word in words {
        tcp |= word == "tcp";
        known &= matches!(word, "tcp" | "unix" | "ssl");
    }
    if everybody && tcp && known {
        return Ok(());
    }
    Err("-ORBAccess allows and denies networks; offering and accepting bidirectional connections are separate settings"
        .to_owned())
}

/// Reads a server's requirement for certificates of its clients.
fn verify_mode(value: &str) -> Result<Option<String>, String> {
    let mut words: Vec<_> = value.split(',').map(str::trim).collect();
    words.retain(|word| *word != "once");
    let clients = match words[..] {
        ["none"] => "ignored",
        ["peer"] => "asked",
        ["peer", "fail"] => "required",
        _ => return Err("expected none, or peer with fail or without".to_owned()),
    };
    Ok(Some(clients.to_owned()))
}

/// Reads a limit; 0, which switches it off in omniORB, keeps the default here.
fn unless_zero(value: &str) -> Result<Option<String>, String> {
    Ok((value != "0").then(|| value.to_owned()))
}

/// Options that are arguments, environment variables or lines of `omniORB.cfg`.
pub(super) const OPTIONS: &[PeerOption] = &[
    ignored(
        "abortOnInternalError",
        "if a servant panics, its client gets UNKNOWN, and the server continues",
    ),
    ignored(
        "abortOnNativeException",
        "if a servant panics, its client gets UNKNOWN, and the server continues",
    ),
    ignored("acceptMisalignedTcIndirections", "such messages are always accepted"),
    refused("bootstrapAgentHostname", BOOTSTRAP),
    ignored("bootstrapAgentPort", BOOTSTRAP),
    same("clientCallTimeOutPeriod", "RoundTripTimeout"),
    mapped(
        "clientConnectTimeOutPeriod",
        "ConnectTimeout",
        unless_zero,
        "0 keeps the default of 5 s",
    ),
    checked("clientTransportRule", any_tcp, "only rules that permit TCP for all addresses"),
    ignored("connectionWatchImmediate", INSIDE),
    ignored("connectionWatchPeriod", INSIDE),
    ignored("copyValuesInLocalCalls", "values are always copied"),
    ignored("defaultCharCodeSet", "text to a peer that names no code set is sent in ISO 8859-1"),
    ignored(
        "defaultWCharCodeSet",
        "wide text to a peer that names no wide code set is sent in UTF-16",
    ),
    ignored("diiThrowsSysExceptions", "dynamic calls return a Result"),
    ignored("dumpConfiguration", "docs/config.md lists the settings"),
    same("endPoint", "ListenEndpoints"),
    mapped(
        "endPointNoListen",
        "EndPointPublish",
        |value| {
            let address = value.strip_prefix("giop:tcp:").ok_or("expected giop:tcp:HOST:PORT")?;
            Ok(Some(address.to_owned()))
        },
        "addresses to publish instead of the detected ones",
    ),
    refused(
        "endPointNoPublish",
        "all endpoints are published, or the addresses of -ORBEndPointPublish",
    ),
    ignored("endPointPublishAllIFs", "addresses of all interfaces are published"),
    mapped(
        "giopMaxMsgSize",
        "MaxMessage",
        |value| Ok(Some(value.to_owned())),
        "0 (no limit) is rejected",
    ),
    ignored(
        "giopTargetAddressMode",
        "requests name objects by key; the other forms of addressing are accepted",
    ),
    alone(refused(
        "help",
        "docs/config.md lists the settings of OxORB, docs/peer-options.md those of other ORBs",
    )),
    ignored("idleThreadTimeout", THREADS),
    ignored("immediateAddressSwitch", "the next address of a reference is tried immediately"),
    mapped(
        "inConScanPeriod",
        "IdleTimeout",
        seconds,
        "in seconds in omniORB; omniORB's default is 180, OxORB's is 0",
    ),
    refused(
        "lcdMode",
        "only peers older than 20 years need it; -ORBMaxGIOPVersion 1.0 has most of its effects",
    ),
    ignored("listenBacklog", "the system's limit is used (sysctl net.core.somaxconn)"),
    ignored("maxClientThreadPoolSize", THREADS),
    ignored(
        "maxGIOPConnectionPerServer",
        "each concurrent call to a server uses a separate connection; -ORBClientConnections can share connections",
    ),
    ignored(
        "maxInterleavedCallsPerConnection",
        "-ORBClientConnections selects how connections are shared",
    ),
    same("maxServerThreadPerConnection", "MaxRequestsPerConnection"),
    ignored("maxServerThreadPoolSize", THREADS),
    ignored("maxSocketRecv", SOCKETS),
    ignored("maxSocketSend", SOCKETS),
    ignored("nativeWCharCodeSet", "wide text is sent as UTF-16"),
    ignored("objectTableSize", "tables grow with the objects"),
    mapped(
        "oneCallPerConnection",
        "ClientConnections",
        |value| match value {
            "0" => Ok(Some("multiplexed".to_owned())),
            _ => Ok(None),
        },
        "1 is the default; 0 is multiplexed",
    ),
    mapped(
        "outConScanPeriod",
        "ClientIdleTimeout",
        seconds,
        "in seconds in omniORB; omniORB's default is 120, OxORB's is 600",
    ),
    mapped("poaHoldRequestTimeout", "HoldTime", unless_zero, "0 keeps the default of 30 s"),
    ignored("poaUniquePersistentSystemIds", "ids of persistent objects are unique"),
    ignored("principal", "requests of GIOP 1.0 have an empty principal"),
    ignored("resetTimeOutOnRetries", "the time-out of a call applies to all its attempts together"),
    ignored("resolveNamesForTransportRules", "-ORBAccess takes addresses"),
    ignored("retainAddressOrder", "addresses are tried in the order of the reference"),
    ignored("scanGranularity", "idle connections are closed without a scanning period"),
    mapped("serverCallTimeOutPeriod", "StallTimeout", unless_zero, "0 keeps the default"),
    checked("serverTransportRule", any_tcp, "only rules that permit TCP for all addresses"),
    ignored("socketSendBuffer", SOCKETS),
    same("sslAcceptTimeOut", "TlsHandshakeTime"),
    same("sslCAFile", "TlsRoots"),
    refused("sslCAPath", "specify one file of authorities with -ORBTlsRoots"),
    same("sslKeyFile", "TlsCertificate"),
    ignored("sslKeyPassword", "encrypted keys are not supported"),
    mapped(
        "sslVerifyMode",
        "TlsClients",
        verify_mode,
        "peer,fail: required; peer: asked; none: ignored. Servers are always verified",
    ),
    mapped(
        "strictIIOP",
        "StrictEncoding",
        |value| Ok(Some(value.to_owned())),
        "0 is the default; 1 also refuses booleans other than 0 and 1",
    ),
    refused("supportBootstrapAgent", BOOTSTRAP),
    ignored("supportCurrent", "the POA's Current is always available at no cost"),
    ignored("supportPerThreadTimeOut", "policies of threads are always available"),
    ignored("tcAliasExpand", "type codes in an any keep their aliases"),
    ignored("threadPerConnectionLowerLimit", THREADS),
    mapped(
        "threadPerConnectionPolicy",
        "Concurrency",
        |value| match value {
            "0" => Ok(Some("leader-followers:16".to_owned())),
            _ => Ok(Some("thread-per-connection".to_owned())),
        },
        "0 is leader-followers:16",
    ),
    ignored("threadPerConnectionUpperLimit", THREADS),
    ignored("threadPoolWatchConnection", "a worker stays with a busy connection (-ORBWorkerStay)"),
    refused("throwTransientOnTimeOut", "a call that takes too long raises TIMEOUT"),
    ignored("traceExceptions", TRACING),
    same("traceFile", "LogFile"),
    ignored("traceInvocationReturns", TRACING),
    ignored("traceInvocations", TRACING),
    mapped("traceLevel", "LogLevel", verbosity, "0 error, 1 to 4 warn, 5 to 9 info, 10 debug"),
    ignored("traceLocking", INSIDE),
    ignored("traceThreadId", LOG_LINE),
    ignored("traceTime", LOG_LINE),
    ignored(
        "unixTransportDirectory",
        "an endpoint contains its whole path, as in giop:unix:/run/bank; giop:unix: uses TMPDIR",
    ),
    ignored(
        "unixTransportPermission",
        "the permissions of a socket are an option of its endpoint: mode=0660",
    ),
    ignored("useTypeCodeIndirections", "type codes that repeat are sent once"),
    ignored("validateUTF8", "text is always validated"),
    ignored(
        "verifyObjectExistsAndType",
        "the type of an object is queried only when a reference is narrowed",
    ),
    refused("InitialHost", BOOTSTRAP),
    refused("InitialPort", BOOTSTRAP),
];
