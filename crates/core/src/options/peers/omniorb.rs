//! omniORB's options, as `-ORBhelp` of omniORB 4.2 and 4.3 lists them.

use super::{PeerOption, alone, checked, ignored, mapped, refused, same, seconds, verbosity};

const TRACING: &str = "interceptors see each call (docs/interceptors.md)";
const LOG_LINE: &str = "each line of a log file has time and level";
const THREADS: &str = "-ORBConcurrency says how many threads serve";
const BOOTSTRAP: &str = "say -ORBInitRef NameService=corbaloc::HOST:PORT/NameService";
const INSIDE: &str = "it tunes the other ORB's insides";
const SOCKETS: &str = "the system sizes reads, writes and socket buffers";

/// Checks that a transport rule admits everybody over TCP.
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
    Err("-ORBAccess allows and denies networks; offering and accepting bidirectional connections are \
         settings of their own"
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
        "a panic of a servant is UNKNOWN to its client, and the server goes on",
    ),
    ignored(
        "abortOnNativeException",
        "a panic of a servant is UNKNOWN to its client, and the server goes on",
    ),
    ignored("acceptMisalignedTcIndirections", "they are accepted"),
    refused("bootstrapAgentHostname", BOOTSTRAP),
    ignored("bootstrapAgentPort", BOOTSTRAP),
    same("clientCallTimeOutPeriod", "RoundTripTimeout"),
    mapped(
        "clientConnectTimeOutPeriod",
        "ConnectTimeout",
        unless_zero,
        "0 keeps the default of 5 s",
    ),
    checked("clientTransportRule", any_tcp, "only rules that let TCP through to everybody"),
    ignored("connectionWatchImmediate", INSIDE),
    ignored("connectionWatchPeriod", INSIDE),
    ignored("copyValuesInLocalCalls", "values are always copied"),
    ignored("defaultCharCodeSet", "a peer that names no code set is sent ISO 8859-1"),
    ignored("defaultWCharCodeSet", "a peer that names no wide code set is sent UTF-16"),
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
        "published instead of the addresses found",
    ),
    refused("endPointNoPublish", "all endpoints are published, or what -ORBEndPointPublish says"),
    ignored("endPointPublishAllIFs", "addresses of all interfaces are published"),
    mapped(
        "giopMaxMsgSize",
        "MaxMessage",
        |value| Ok(Some(value.to_owned())),
        "0 (no limit) is refused",
    ),
    ignored("giopTargetAddressMode", "requests name objects by key; other ways are understood"),
    alone(refused(
        "help",
        "docs/config.md lists the settings, docs/peer-options.md those of other ORBs",
    )),
    ignored("idleThreadTimeout", THREADS),
    ignored("immediateAddressSwitch", "the next address of a reference is tried at once"),
    mapped(
        "inConScanPeriod",
        "IdleTimeout",
        seconds,
        "in seconds there; the default there is 180, here 0",
    ),
    refused(
        "lcdMode",
        "peers that are more than 20 years old need it; -ORBMaxGIOPVersion 1.0 goes most of the way",
    ),
    ignored("listenBacklog", "the system's limit is used (sysctl net.core.somaxconn)"),
    ignored("maxClientThreadPoolSize", THREADS),
    ignored(
        "maxGIOPConnectionPerServer",
        "there are as many connections to a server as calls at a time; \
             -ORBClientConnections shares them",
    ),
    ignored(
        "maxInterleavedCallsPerConnection",
        "-ORBClientConnections says how connections are shared",
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
        "in seconds there; the default there is 120, here 600",
    ),
    mapped("poaHoldRequestTimeout", "HoldTime", unless_zero, "0 keeps the default of 30 s"),
    ignored("poaUniquePersistentSystemIds", "ids of persistent objects are unique"),
    ignored("principal", "requests of GIOP 1.0 have an empty principal"),
    ignored("resetTimeOutOnRetries", "the time-out of a call holds for all its attempts together"),
    ignored("resolveNamesForTransportRules", "-ORBAccess takes addresses"),
    ignored("retainAddressOrder", "addresses are tried in the order of the reference"),
    ignored("scanGranularity", "connections that idle are closed on time"),
    mapped("serverCallTimeOutPeriod", "StallTimeout", unless_zero, "0 keeps the default"),
    checked("serverTransportRule", any_tcp, "only rules that let TCP through to everybody"),
    ignored("socketSendBuffer", SOCKETS),
    same("sslAcceptTimeOut", "TlsHandshakeTime"),
    same("sslCAFile", "TlsRoots"),
    refused("sslCAPath", "name one file of authorities by -ORBTlsRoots"),
    same("sslKeyFile", "TlsCertificate"),
    ignored("sslKeyPassword", "keys are not encrypted here"),
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
    ignored("supportCurrent", "the POA's Current is there at no cost"),
    ignored("supportPerThreadTimeOut", "policies of a thread are always there"),
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
    refused("throwTransientOnTimeOut", "a call that takes too long is TIMEOUT"),
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
        "an endpoint names its whole path, as in giop:unix:/run/bank; giop:unix: goes to TMPDIR",
    ),
    ignored(
        "unixTransportPermission",
        "the rights of a socket are an option of its endpoint: mode=0660",
    ),
    ignored("useTypeCodeIndirections", "type codes that repeat are sent once"),
    ignored("validateUTF8", "text is always validated"),
    ignored(
        "verifyObjectExistsAndType",
        "an object is asked for its type only where a reference is narrowed",
    ),
    refused("InitialHost", BOOTSTRAP),
    refused("InitialPort", BOOTSTRAP),
];
