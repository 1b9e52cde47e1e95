//! `oxorb ping`: reports whether and how an object can be reached, and measures its response time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use oxorb::client::Failure;
use oxorb::ior::Ior;
use oxorb::protocol::{Profile, ProtocolStack};
use oxorb::transport::Address;
use oxorb::values::Printable;
use oxorb::{Interface, ObjectRef, Orb, Ref, SystemException, SystemExceptionKind};
use serde_json::json;

use oxorb_terminal::duration;
use oxorb_terminal::orb::{call_at, with_private_connections};
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json,
};
use oxorb_terminal::statistics::{Latencies, Percentiles, Time};

/// Arguments of `oxorb ping`.
#[derive(clap::Args)]
#[command(
    after_help = "The command measures calls of _non_existent, which every CORBA object answers, whatever its \
    interface. Exit status 0: the object was reached at one endpoint at least, and answered every call.\n\n\
    Examples:\n  oxorb ping corbaloc::host:2809/NameService\n  oxorb ping -c 10000 -i 10ms file:///tmp/account.ior"
)]
pub(crate) struct Args {
    /// IOR:, corbaloc:, corbaname: or file:
    reference: String,
    /// Number of calls to measure
    #[arg(short = 'c', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Time between calls. For example 300ms; a bare number is milliseconds
    #[arg(short = 'i', long, default_value = "0s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds())]
    interval: Duration,
    /// Time limit for connecting, and for each call. For example 300ms; a bare number is milliseconds
    #[arg(long, default_value = "2s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds())]
    timeout: Duration,
    /// CORBA priority of the calls, 0 to 32767; selects the lane or band of the server
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i16).range(0..))]
    priority: Option<i16>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Results for one endpoint.
#[derive(serde::Serialize)]
struct Endpoint {
    protocol: String,
    address: String,
    reached: bool,
    /// Failure, or the object's answer.
    what: String,
    first_call_ns: Option<u64>,
    /// Reason why calls do not use the endpoint; `None` if they do.
    not_chosen: Option<String>,
    /// Whether the endpoint is an address of this host, which calls prefer to those of other profiles.
    same_host: bool,
}

/// Whether the server is on this host, according to one profile.
#[derive(serde::Serialize)]
struct Host {
    /// Protocol of the address for clients on the same host.
    protocol: String,
    same: bool,
    why: String,
}

/// Tries every endpoint, then measures over the first that answers.
pub(crate) fn run(args: Args) -> Done {
    let orb = Orb::builder().connect_timeout(args.timeout).round_trip_timeout(args.timeout);
    let orb = with_private_connections(orb).build()?;
    call_at(&orb, args.priority).map_err(because)?;
    let object = orb.string_to_object(&args.reference).map_err(because)?;
    let ior = object.reference().ior();
    if ior.is_nil() {
        return Err(because("the reference is nil: it refers to no object"));
    }
    let each = endpoints(&orb, ior);
    let skipped = skipped(&orb, ior);
    if each.is_empty() {
        let passed = skipped.iter().map(|what| format!("; skipped: {what}"));
        return Err(because(format!(
            "the reference has no profile of a protocol that this ORB supports, so there is no endpoint to try; `oxorb \
             ior show` explains its profiles{}",
            passed.collect::<String>()
        )));
    }
    let mut tried: Vec<Endpoint> = each
        .iter()
        .map(|it| Endpoint {
            same_host: it.same_host,
            ..try_endpoint(&it.protocol, &it.address, &it.object)
        })
        .collect();
    let hosts = hosts(&orb, ior, &tried);
    let reached = chosen(&orb, &tried);
    for at in 0..tried.len() {
        tried[at].not_chosen = reached.and_then(|reached| not_chosen(&orb, &tried, reached, at));
    }
    if args.format == Format::Text {
        print(endpoints_text(&ior.type_id, &tried, &hosts, &skipped))?;
    }
    let Some(reached) = reached else {
        if args.format == Format::Json {
            print_json(&json!({
                "reached": false,
                "endpoints": tried,
                "hosts": hosts,
                "skipped": skipped,
            }))?;
            return Err(Failed::Told);
        }
        return Err(because("the object was reached at none of its endpoints"));
    };
    let calls =
        measure(&each[reached].object, &args).map_err(|exception| because(explained(exception)))?;
    let why = why(&orb, &tried, reached);
    let Endpoint { protocol, address, .. } = &tried[reached];
    match args.format {
        Format::Text => {
            print(format!("calls go over {protocol} to {address}: {why}\n{}", calls_text(&calls)))
        }
        Format::Json => print_json(&json!({
            "reached": true,
            "endpoints": tried,
            "hosts": hosts,
            "skipped": skipped,
            "chosen": { "protocol": protocol, "address": address, "why": why },
            "latency": calls,
        })),
    }
}

/// Returns the endpoint that calls of this ORB use: of those that answer, the first in the order of the ORB's
/// preference, and then of the reference.
fn chosen(orb: &Orb, tried: &[Endpoint]) -> Option<usize> {
    let answer = tried.iter().enumerate();
    let answer = answer.filter(|(_, endpoint)| endpoint.reached);
    let best = answer.min_by_key(|(_, endpoint)| preference(orb, &endpoint.protocol));
    best.map(|(at, _)| at)
}

/// Returns the rank of a protocol in the ORB's preference; unnamed protocols come last, those that may lose calls after
/// the others.
fn preference(orb: &Orb, protocol: &str) -> usize {
    let preferred = &orb.options().preferred;
    let place = preferred.iter().position(|name| name == protocol);
    place.unwrap_or(preferred.len() + usize::from(may_lose(orb, protocol)))
}

/// Reports whether a protocol may lose calls, so that others are preferred.
fn may_lose(orb: &Orb, protocol: &str) -> bool {
    let protocol = orb.options().protocols.named(protocol);
    protocol.is_some_and(|protocol| !protocol.transport().facts().reliable)
}

/// Returns the reason for a choice.
fn why(orb: &Orb, tried: &[Endpoint], chosen: usize) -> String {
    let of = |endpoint: &Endpoint| preference(orb, &endpoint.protocol);
    let preferred = of(&tried[chosen]) < orb.options().preferred.len();
    let order = match preferred {
        true => "the first of -ORBProtocols that answers",
        false if tried[chosen].same_host => {
            "the server is on this host, where shared memory has preference, then UNIX sockets, then TCP; \
             -ORBProtocols can prefer another protocol"
        }
        false if orb.options().preferred.is_empty() => {
            "the first endpoint in the reference that answers; -ORBProtocols can prefer another protocol"
        }
        false => {
            "no endpoint of -ORBProtocols answers, and this one is the first in the reference that does"
        }
    };
    let before = |(at, endpoint): &(usize, &Endpoint)| {
        !endpoint.reached && (of(endpoint), *at) < (of(&tried[chosen]), chosen)
    };
    match tried.iter().enumerate().filter(before).count() {
        0 => order.to_owned(),
        failed => format!("{order}, after {failed} that did not answer"),
    }
}

/// Returns the reason why calls do not use an endpoint; `None` for the chosen one.
fn not_chosen(orb: &Orb, tried: &[Endpoint], chosen: usize, at: usize) -> Option<String> {
    let of = |at: usize| preference(orb, &tried[at].protocol);
    Some(if at == chosen {
        return None;
    } else if !tried[at].reached {
        "it was not reached".to_owned()
    } else if of(chosen) == orb.options().preferred.len() && of(chosen) < of(at) {
        "datagrams may be lost, so they come after all other protocols".to_owned()
    } else if of(chosen) < of(at) {
        format!("-ORBProtocols prefers {}", tried[chosen].protocol)
    } else if tried[chosen].same_host && !tried[at].same_host {
        format!("{} on the same host has preference", tried[chosen].protocol)
    } else {
        match tried[chosen].same_host {
            true => format!("{} has preference on the same host", tried[chosen].protocol),
            false => "it comes later in the reference".to_owned(),
        }
    })
}

/// Returns the facts that the profiles state about their server's host, given the results at the addresses for clients
/// on that host.
fn hosts(orb: &Orb, ior: &Ior, tried: &[Endpoint]) -> Vec<Host> {
    let protocols = &orb.options().protocols;
    let mut hosts = Vec::new();
    for tagged in &ior.profiles {
        let protocol = protocols.tagged(tagged.tag);
        let profile = protocol.and_then(|protocol| protocol.profile().read(tagged).ok());
        let Some(profile) = profile else { continue };
        for other in protocols.iter() {
            let (same, why) = match other.profile().found_beside(&profile) {
                None => continue,
                Some(Err(why)) => (false, why),
                Some(Ok(address)) => beside(&profile, other.name(), &address, tried),
            };
            let protocol = other.name().to_owned();
            hosts.push(Host { protocol, same, why });
        }
    }
    hosts
}

fn beside(
    profile: &Profile,
    protocol: &str,
    address: &Address,
    tried: &[Endpoint],
) -> (bool, String) {
    let shown = Printable(address.for_people()).to_string();
    let it = tried.iter().find(|it| it.protocol == protocol && it.address == shown);
    let ours = [oxorb::ior::OXORB_SOCKET, oxorb::ior::OXORB_SHM_SOCKET];
    let by = match ours.iter().any(|tag| profile.component(*tag).is_some()) {
        true => "the identity of the host",
        false => "only the name of the host",
    };
    match it {
        Some(it) if it.reached => (true, format!("by {by}, and {shown} is the server's")),
        Some(it) => (false, format!("{shown}: {}", it.what)),
        None => (true, format!("by {by}")),
    }
}

/// Returns the profiles that no protocol of the ORB supports.
fn skipped(orb: &Orb, ior: &Ior) -> Vec<String> {
    let protocols = &orb.options().protocols;
    let known: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
    let foreign = |tag: u32| protocols.tagged(tag).is_none() && tag != MULTIPLE_COMPONENTS;
    let foreign = ior.profiles.iter().filter(|profile| foreign(profile.tag));
    let said = foreign.map(|profile| {
        let tag = profile.tag;
        format!("the profile with tag {tag:#x}: this ORB supports only {}", known.join(", "))
    });
    let mut said: Vec<_> = said.collect();
    let tells_of_tls = |profile: &Profile| {
        let tags = [oxorb::ior::SSL_SEC_TRANS, oxorb::ior::CSI_SEC_MECH_LIST];
        tags.iter().any(|tag| profile.component(*tag).is_some())
    };
    let known = ior.profiles.iter().filter_map(|tagged| {
        let profile = protocols.tagged(tagged.tag)?.profile();
        profile.read(tagged).ok()
    });
    if protocols.named("iiops").is_none() && known.into_iter().any(|it| tells_of_tls(&it)) {
        said.push(format!("the address over TLS: {}", crate::without_tls::WITHOUT_TLS));
    }
    said
}

/// Tag of the profile that contains components for all other profiles.
const MULTIPLE_COMPONENTS: u32 = 1;

/// Endpoint of a reference, and the object there.
struct PingedEndpoint {
    protocol: String,
    address: String,
    object: ObjectRef,
    /// Whether the endpoint is an address of this host, which calls prefer.
    same_host: bool,
}

/// Returns a reference for each endpoint of the original, in the order in which calls try them: addresses of this host
/// before possibly remote GIOP addresses.
fn endpoints(orb: &Orb, ior: &Ior) -> Vec<PingedEndpoint> {
    let protocols = &orb.options().protocols;
    let place = |of: &str| protocols.iter().position(|it| it.name() == of);
    let (mut each, mut near, mut first): (Vec<PingedEndpoint>, Vec<PingedEndpoint>, _) =
        (Vec::new(), Vec::new(), None);
    let mut add =
        |protocol: &ProtocolStack, profile: &Profile, address: &Address, lane, is_near| {
            let alone = alone(profile, address, lane);
            let ior = Ior {
                type_id: ior.type_id.clone(),
                profiles: vec![protocol.profile().write(&alone)],
            };
            let address = Printable(address.for_people());
            let address = match lane {
                Some(priority) => format!("{address} (lane of priority {priority})"),
                None => address.to_string(),
            };
            let found = PingedEndpoint {
                protocol: protocol.name().to_owned(),
                address,
                object: ObjectRef::from_ref(Ref::new(orb, ior)),
                same_host: is_near,
            };
            if protocol.messaging().is_none() {
                first.get_or_insert(each.len());
            }
            if is_near { &mut near } else { &mut each }.push(found);
        };
    for tagged in &ior.profiles {
        let Some(protocol) = protocols.tagged(tagged.tag) else {
            continue;
        };
        let Ok(profile) = protocol.profile().read(tagged) else {
            continue;
        };
        for other in protocols.iter() {
            if let Some(Ok(address)) = other.profile().found_beside(&profile) {
                add(other, &profile, &address, None, true);
            }
            for (address, priority) in other.profile().found_within(tagged).addresses {
                let lane = Some(priority).filter(|priority| *priority >= 0);
                add(other, &profile, &address, lane, false);
            }
        }
        let is_near = |address: &Address| {
            protocol.messaging().is_none() && protocol.profile().is_near(address)
        };
        let priority = |address| {
            let lane = profile.lanes.iter().find(|(at, _)| at == address);
            lane.map(|(_, priority)| *priority)
        };
        for address in &profile.addresses {
            let lane = priority(address);
            add(protocol, &profile, address, lane, lane.is_some() && is_near(address));
        }
        for (address, priority) in &profile.lanes {
            if !profile.addresses.contains(address) {
                add(protocol, &profile, address, Some(*priority), is_near(address));
            }
        }
    }
    near.sort_by_key(|it| place(&it.protocol));
    let first = first.unwrap_or(each.len());
    each.splice(first..first, near);
    each
}

/// Returns the profile with only one of its addresses. If it is the address of a lane, keeps the lane's priority, on
/// which it depends which calls the lane accepts.
fn alone(profile: &Profile, address: &Address, lane: Option<i16>) -> Profile {
    let mut alone = profile.clone();
    alone.addresses = vec![address.clone()];
    alone.lanes = lane.map(|priority| (address.clone(), priority)).into_iter().collect();
    let elsewhere = [
        oxorb::ior::ALTERNATE_IIOP_ADDRESS,
        oxorb::ior::TAO_ENDPOINTS,
        oxorb::ior::OMNIORB_UNIX,
        oxorb::ior::OXORB_SOCKET,
        oxorb::ior::OXORB_SHM_SOCKET,
        oxorb::ior::SSL_SEC_TRANS,
        oxorb::ior::CSI_SEC_MECH_LIST,
    ];
    alone.components.retain(|component| !elsewhere.contains(&component.tag));
    alone
}

const NO_OBJECT: &str = "a server answers, but it has no such object";

fn try_endpoint(protocol: &str, address: &str, at: &ObjectRef) -> Endpoint {
    let failed = |what| Endpoint {
        protocol: protocol.to_owned(),
        address: address.to_owned(),
        reached: false,
        what,
        first_call_ns: None,
        not_chosen: None,
        same_host: false,
    };
    if let Err(failure) = at.validate_connection() {
        if failure.exception.kind == SystemExceptionKind::ObjectNotExist {
            return failed(NO_OBJECT.to_owned());
        }
        let Some(attempt) = failure.attempts.last() else {
            return failed(failure.to_string());
        };
        return failed(match doubt(protocol, at) {
            Some(why) => format!("{} ({why})", attempt.what),
            None => attempt.what.clone(),
        });
    }
    let start = Instant::now();
    let what = match at.non_existent() {
        Ok(false) => "the object is there",
        Ok(true) => {
            return failed(NO_OBJECT.to_owned());
        }
        Err(exception) => return failed(format!("connected, but {}", explained(exception))),
    };
    Endpoint {
        protocol: protocol.to_owned(),
        address: address.to_owned(),
        reached: true,
        what: what.to_owned(),
        first_call_ns: Some(start.elapsed().as_nanos() as u64),
        not_chosen: None,
        same_host: false,
    }
}

/// Returns why the only endpoint of `at` looks unreachable from here.
fn doubt(protocol: &str, at: &ObjectRef) -> Option<&'static str> {
    let profile = at.reference().ior().iiop_profiles().next()?;
    // A profile for TLS has port 0: a component contains the port of TLS.
    let port = if protocol == "iiops" { 1 } else { profile.port };
    crate::reach::doubt(&profile.host, port)
}

/// Adds the failure of the connection to an exception, if known.
fn explained(exception: SystemException) -> String {
    match Failure::of(&exception).as_ref().and_then(|failure| failure.attempts.last()) {
        Some(attempt) => format!("{exception}: {}", attempt.what),
        None => exception.to_string(),
    }
}

fn measure(object: &ObjectRef, args: &Args) -> Result<Percentiles, SystemException> {
    let mut latencies = Latencies::new();
    for n in 0..args.count {
        if n > 0 && !args.interval.is_zero() {
            std::thread::sleep(args.interval);
        }
        let start = Instant::now();
        object.non_existent()?;
        latencies.record(start.elapsed());
    }
    Ok(latencies.percentiles())
}

fn endpoints_text(type_id: &str, tried: &[Endpoint], hosts: &[Host], skipped: &[String]) -> String {
    let mut out = String::new();
    if !type_id.is_empty() {
        let _ = writeln!(out, "{STRONG}{}{STRONG:#}", Printable(type_id));
    }
    for endpoint in tried {
        let _ = match endpoint.first_call_ns {
            Some(first) => writeln!(
                out,
                "  {GOOD}ok{GOOD:#}      {}: {} {FAINT}(first call {}{}){FAINT:#}",
                endpoint.address,
                Printable(&endpoint.what),
                Time(first),
                match &endpoint.not_chosen {
                    Some(why) => format!("; not chosen: {why}"),
                    None => String::new(),
                }
            ),
            None => writeln!(
                out,
                "  {BAD}failed{BAD:#}  {}: {}",
                endpoint.address,
                Printable(&endpoint.what)
            ),
        };
    }
    for Host { same, why, .. } in hosts {
        let which = if *same { "the server's" } else { "not the server's" };
        let _ = writeln!(out, "  {STRONG}host{STRONG:#}    {which}: {}", Printable(why));
    }
    for foreign in skipped {
        let _ = writeln!(out, "  {FAINT}skipped{FAINT:#} {foreign}");
    }
    out
}

fn calls_text(calls: &Percentiles) -> String {
    format!(
        "{} calls: p50 {}, p99 {}, p99.9 {}, max {}\n",
        calls.calls,
        Time(calls.p50_ns),
        Time(calls.p99_ns),
        Time(calls.p999_ns),
        Time(calls.max_ns)
    )
}
