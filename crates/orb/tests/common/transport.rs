//! The protocol of the tests of whole ORBs, chosen by the environment. `iiops` also needs certificates
//! (`OXORB_TLSCERTIFICATE` for 127.0.0.1 and localhost, `OXORB_TLSROOTS`).

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};

use oxorb::lite::{GIOP_LITE, GIOP_LITE_RT, Messaging};
use oxorb::protocol::{Placed, Profile, ProtocolStack, Protocols};
use oxorb::transport::mem::{self, Memory};
use oxorb::transport::{Address, Endpoint, tcp};
use oxorb::{Builder, Orb};
use oxorb_cdr::ByteOrder;
use oxorb_giop::Wire;
use oxorb_object::{TaggedComponent, TaggedProfile, Version, profile_tag};

/// `tcp` (the default), `unix`, or the name of a protocol: `mem`, `shm`, `giop-lite+tcp`, ..
const TRANSPORT: &str = "OXORB_TEST_TRANSPORT";

/// The memory that all ORBs of a test process share.
static MEMORY: LazyLock<Memory> = LazyLock::new(Memory::new);

static CHOSEN: LazyLock<Arc<ProtocolStack>> = LazyLock::new(|| {
    let name = match std::env::var(TRANSPORT).as_deref() {
        Err(_) | Ok("tcp") => "iiop".to_owned(),
        Ok("unix") => "uiop".to_owned(),
        Ok(name) => name.to_owned(),
    };
    let known = &*KNOWN;
    let Some(protocol) = known.named(&name) else {
        let all: Vec<_> = known.iter().map(|one| one.name()).collect();
        panic!("{TRANSPORT}={name}: expected tcp, unix, or one of {all:?}");
    };
    protocol.clone()
});

/// All protocols that tests may use.
static KNOWN: LazyLock<Protocols> = LazyLock::new(|| {
    let orb = builder().build().unwrap();
    let known = orb.options().protocols.clone();
    orb.shutdown(true).unwrap();
    known
});

/// Returns a builder of ORBs that speak all protocols that tests may use.
pub(crate) fn builder() -> Builder {
    let lite = |name, messaging, tag| over_memory(name, messaging, tag, &MEMORY);
    Orb::builder()
        .protocol(ProtocolStack::memory(MEMORY.clone()))
        .protocol(lite("giop-lite+mem", GIOP_LITE, profile_tag::OXORB_LITE_MEMORY))
        .protocol(lite("giop-lite-rt+mem", GIOP_LITE_RT, profile_tag::OXORB_LITE_RT_MEMORY))
}

/// Returns the protocol that sends the messages of `messaging` over memory.
fn over_memory(
    name: &'static str,
    messaging: &'static dyn Messaging,
    tag: u32,
    memory: &Memory,
) -> ProtocolStack {
    let profile = Placed::new(tag, name, mem::SCHEME);
    ProtocolStack::new(name, profile, Some(messaging), Arc::new(memory.clone())).unwrap()
}

/// Returns a builder of servers that listen at any free address over the chosen protocol.
pub(crate) fn listening() -> Builder {
    builder().listen(&anywhere())
}

/// Returns the chosen protocol.
pub(crate) fn protocol() -> &'static ProtocolStack {
    &CHOSEN
}

/// Returns the wire format of the chosen protocol.
pub(crate) fn wire() -> Wire {
    Wire::of(protocol().messaging(), Version::V1_2)
}

/// Returns a byte order for messages: the opposite of this machine's, if messages of the protocol declare their byte
/// order.
pub(crate) fn other_order() -> ByteOrder {
    match (wire().needs().same_order, ByteOrder::NATIVE) {
        (true, native) => native,
        (false, ByteOrder::Little) => ByteOrder::Big,
        (false, ByteOrder::Big) => ByteOrder::Little,
    }
}

/// Returns an endpoint at any free address.
pub(crate) fn anywhere() -> String {
    format!("{}://{}", protocol().name(), any_place())
}

/// Returns an endpoint at any free address, with options.
pub(crate) fn anywhere_with(options: &str) -> String {
    let bar = match has_ports() || is_memory() {
        true => '/',
        false => '|',
    };
    format!("{}{bar}{options}", anywhere())
}

/// Returns the text after `PROTOCOL://` in an endpoint at any free address.
fn any_place() -> &'static str {
    match has_ports() {
        true => "127.0.0.1:0",
        false => "",
    }
}

/// Reports whether the chosen transport is TCP.
pub(crate) fn is_tcp() -> bool {
    protocol().transport().scheme() == tcp::SCHEME
}

/// Reports whether addresses consist of host and port.
pub(crate) fn has_ports() -> bool {
    is_tcp() || is_tls()
}

/// Reports whether the chosen transport is TLS, whose addresses are published in IIOP profiles.
pub(crate) fn is_tls() -> bool {
    protocol().name() == "iiops"
}

/// Returns the tag of the profiles that publish the chosen protocol.
pub(crate) fn profile_tag() -> u32 {
    match is_tls() {
        true => profile_tag::INTERNET_IOP,
        false => protocol().profile().tag(),
    }
}

/// Reports whether only this process can connect.
pub(crate) fn is_memory() -> bool {
    protocol().transport().scheme() == mem::SCHEME
}

/// An address without listener.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Endpoint for a listener.
    pub(crate) endpoint: String,
    /// Address for clients.
    pub(crate) address: Address,
}

/// Returns an address without listener, at which the test may listen.
pub(crate) fn free_place() -> Place {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let number = GIVEN.fetch_add(1, Ordering::Relaxed);
    let name = format!("oxorb-test-{}-{number}", std::process::id());
    let place = match (has_ports(), is_memory()) {
        (true, _) => format!("127.0.0.1:{}", oxorb_testkit::net::free_port()),
        (_, true) => name,
        _ => oxorb_testkit::net::socket_folder().join(name).display().to_string(),
    };
    let text = format!("{}://{place}", protocol().name());
    let address = protocol().transport().own_address(&endpoint(&text));
    Place { endpoint: text, address }
}

/// Parses one endpoint.
pub(crate) fn endpoint(text: &str) -> Endpoint {
    let mut all = KNOWN.parse(text).unwrap();
    assert_eq!(all.len(), 1, "one endpoint in {text}");
    all.remove(0)
}

/// Returns a URL of the object with this key at these addresses.
pub(crate) fn url(addresses: &[&Address], key: &str) -> String {
    let kind = protocol().profile();
    let all: Vec<_> = addresses.iter().map(|address| kind.print(Version::V1_2, address)).collect();
    let all = all.join(",");
    // An address that is a path already ends with the separator `|`, so that no slash is needed.
    let slash = if all.ends_with('|') { "" } else { "/" };
    format!("corbaloc:{all}{slash}{key}")
}

/// Returns a profile of the chosen protocol.
pub(crate) fn profile_at(
    address: &Address,
    key: &[u8],
    components: Vec<TaggedComponent>,
) -> TaggedProfile {
    let mut profile = Profile::new(address.clone(), Version::V1_2, key);
    profile.components = components;
    protocol().profile().write(&profile)
}

/// Returns the profile of a reference that publishes the chosen protocol.
pub(crate) fn profile_of(object: &oxorb::Ref) -> Profile {
    let kind = protocol().profile();
    let profiles = &object.ior().profiles;
    let ours = profiles.iter().find(|profile| profile.tag == profile_tag());
    kind.read(ours.expect("a profile of the protocol chosen")).unwrap()
}

/// Panics unless the chosen protocol's profile comes first in a reference to a server at
/// [`anywhere`].
pub(crate) fn assert_chosen(object: &oxorb::Ref) {
    let first = object.ior().profiles[0].tag;
    assert_eq!(first, profile_tag());
}

/// Requirement of a test on the protocol.
pub(crate) struct Only {
    name: &'static str,
    holds: fn(&ProtocolStack) -> bool,
}

impl Only {
    /// GIOP over TCP.
    pub(crate) const IIOP: Only =
        Only { name: "IIOP", holds: |protocol| protocol.name() == "iiop" };
    /// Any message format over TCP.
    pub(crate) const TCP: Only = Only { name: "TCP", holds: |_| is_tcp() };
    /// Unencrypted protocols.
    pub(crate) const CLEAR: Only = Only { name: "protocols in the clear", holds: |_| !is_tls() };
    /// Any message format over sockets, which other processes can reach.
    pub(crate) const SOCKETS: Only = Only { name: "sockets", holds: |_| !is_memory() };
    /// GIOP over TCP or TLS.
    pub(crate) const PORTS: Only = Only {
        name: "GIOP over TCP or TLS",
        holds: |protocol| protocol.messaging().is_none() && has_ports(),
    };
    /// GIOP over any transport.
    pub(crate) const GIOP: Only =
        Only { name: "GIOP", holds: |protocol| protocol.messaging().is_none() };
    /// GIOP over sockets, which other processes can reach.
    pub(crate) const GIOP_SOCKETS: Only = Only {
        name: "GIOP over sockets",
        holds: |protocol| protocol.messaging().is_none() && !is_memory(),
    };
    /// Messages with service contexts, over any transport.
    pub(crate) const CONTEXTS: Only =
        Only { name: "messages with service contexts", holds: |_| !wire().needs().no_contexts };
}

/// Reports whether a test applies to the chosen protocol. If not, writes a line to standard error directly, because the
/// test harness hides what passing tests print. `.ci/transports` prints these lines.
pub(crate) fn applies(test: &str, only: &Only, why: &str) -> bool {
    if (only.holds)(protocol()) {
        return true;
    }
    let test = test.trim_end_matches("::here");
    let (name, needed) = (protocol().name(), only.name);
    let line = format!("not applicable over {name}: {test}, only over {needed}: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    false
}

/// Returns from a test unless it applies to the chosen protocol, and prints the reason.
///
/// `only_over!(TCP, "keep-alive is TCP's");`
macro_rules! only_over {
    ($only:ident, $why:literal) => {{
        fn here() {}
        let test = std::any::type_name_of_val(&here);
        let only = &$crate::common::transport::Only::$only;
        if !$crate::common::transport::applies(test, only, $why) {
            return Default::default();
        }
    }};
}
pub(crate) use only_over;
