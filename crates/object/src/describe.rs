//! Explanation of references as plain data, which `oxorb ior show` prints and tools may compare.
//!
//! ```
//! use oxorb_object::{Corbaloc, describe};
//! let ior = "corbaloc::1.2@host/Key%00".parse::<Corbaloc>()?.to_ior().unwrap();
//! let reference = describe::reference(&ior);
//! let describe::ExplainedContent::Iiop { endpoints, key, .. } = &reference.profiles[0].content else { panic!() };
//! assert_eq!(endpoints[0].to_string(), "host:2809");
//! assert_eq!((key.text.as_str(), key.hex.as_str()), (r"Key\x00", "4b657900"));
//! # Ok::<(), oxorb_object::corbaloc::Error>(())
//! ```

use crate::prelude::*;
use oxorb_cdr::{Decoder, Dialect};

use crate::components::{self, DecodedComponent, orb_type, tag};
use crate::{
    CodeSetComponent, Group, IiopEndpoint, IiopProfile, Ior, Malformed, PlaceProfile,
    SocketIdentity, TaggedComponent, TaggedProfile, UipmcProfile, Version, code_sets, hex,
    ior::profile_tag,
};

mod policies;
mod security;

/// Explains a reference. Allocates freely; not for the request path.
pub fn reference(ior: &Ior) -> ExplainedReference {
    ExplainedReference {
        type_id: ior.type_id.clone(),
        is_nil: ior.is_nil(),
        profiles: ior.profiles.iter().map(profile).collect(),
    }
}

/// Explained reference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedReference {
    /// Repository id of its type; may be empty.
    pub type_id: String,
    /// Whether the reference is nil.
    pub is_nil: bool,
    /// Profiles of the reference, in order.
    pub profiles: Vec<ExplainedProfile>,
}

/// Explained profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedProfile {
    /// Tag of the profile.
    pub tag: u32,
    /// Name of the tag, if known.
    pub name: Option<&'static str>,
    /// Size of the profile's data, in octets.
    pub size: usize,
    /// Explained data.
    pub content: ExplainedContent,
}

/// Explained data of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExplainedContent {
    /// Object at TCP addresses.
    Iiop {
        /// Highest GIOP version.
        version: Version,
        /// Address of the profile itself first, then alternates.
        endpoints: Vec<IiopEndpoint>,
        /// Object key.
        key: ExplainedKey,
        /// Components of the profile, in order.
        components: Vec<ExplainedComponent>,
    },
    /// Object at an address that resembles a TCP address but belongs to another protocol (TAO's SHMIOP and DIOP).
    Addressed {
        /// Highest GIOP version.
        version: Version,
        /// Host and port, as the protocol interprets them.
        address: IiopEndpoint,
        /// Object key.
        key: ExplainedKey,
        /// Components of the profile, in order.
        components: Vec<ExplainedComponent>,
    },
    /// Object at a UNIX socket: TAO's UIOP, and OxORB's other protocols over such sockets.
    Unix {
        /// Highest GIOP version.
        version: Version,
        /// Path of the socket, or `@` and an abstract name.
        path: String,
        /// Identity that distinguishes the socket from others with this name; empty if there is
        /// none.
        identity: Vec<ExplainedField>,
        /// Object key.
        key: ExplainedKey,
        /// Components of the profile, in order.
        components: Vec<ExplainedComponent>,
    },
    /// Object at an address that is a single string: OxORB's protocols over TCP and memory.
    Placed {
        /// Highest GIOP version.
        version: Version,
        /// Address in the notation of the protocol.
        place: String,
        /// Object key.
        key: ExplainedKey,
        /// Components of the profile, in order.
        components: Vec<ExplainedComponent>,
    },
    /// Components that belong to the whole reference.
    Components(Vec<ExplainedComponent>),
    /// Data of a protocol known at most by name, unchanged.
    Opaque {
        /// Data in hexadecimal.
        hex: String,
    },
    /// Malformed data of a known protocol, unchanged.
    Malformed {
        /// Error in the data.
        error: Malformed,
        /// Data in hexadecimal.
        hex: String,
    },
}

/// Explained component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedComponent {
    /// Tag of the component.
    pub tag: u32,
    /// Name of the tag, if known.
    pub name: Option<&'static str>,
    /// Content as labelled values; empty for unknown components.
    pub fields: Vec<ExplainedField>,
    /// Error in the data of a component with a known tag.
    pub error: Option<Malformed>,
    /// Data in hexadecimal.
    pub hex: String,
}

/// Labelled value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedField {
    /// Name of the value.
    pub label: &'static str,
    /// Text of the value.
    pub value: String,
}

/// Object key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExplainedKey {
    /// Length of the key, in octets.
    pub octets: usize,
    /// Key as text, with `\xHH` for octets that are not printable ASCII.
    pub text: String,
    /// Key in hexadecimal.
    pub hex: String,
    /// ORB that makes keys of this form, if recognised.
    pub maker: Option<&'static str>,
}

fn profile(profile: &TaggedProfile) -> ExplainedProfile {
    let tag = profile.tag;
    let content = match tag {
        profile_tag::INTERNET_IOP => IiopProfile::parse(profile).map(iiop),
        profile_tag::TAO_SHMIOP | profile_tag::TAO_DIOP => {
            IiopProfile::parse_alike(profile).map(|it| addressed(it, tag))
        }
        profile_tag::UIPMC => UipmcProfile::parse(profile).map(group),
        profile_tag::MULTIPLE_COMPONENTS => multiple_components(&profile.data),
        profile_tag::TAO_UIOP | profile_tag::OXORB_LITE_UNIX | profile_tag::OXORB_LITE_RT_UNIX => {
            PlaceProfile::parse(profile).map(unix)
        }
        _ if profile_tag::is_placed(tag) => PlaceProfile::parse(profile).map(placed),
        _ => Ok(ExplainedContent::Opaque { hex: to_hex(&profile.data) }),
    };
    let content = content
        .unwrap_or_else(|error| ExplainedContent::Malformed { error, hex: to_hex(&profile.data) });
    ExplainedProfile { tag, name: profile_tag::name(tag), size: profile.data.len(), content }
}

fn iiop(profile: IiopProfile) -> ExplainedContent {
    ExplainedContent::Iiop {
        version: profile.version,
        endpoints: profile.endpoints(),
        key: key(&profile.object_key),
        components: explain(&profile.components, profile_tag::INTERNET_IOP),
    }
}

fn addressed(profile: IiopProfile, tag: u32) -> ExplainedContent {
    ExplainedContent::Addressed {
        version: profile.version,
        address: IiopEndpoint { host: profile.host, port: profile.port },
        key: key(&profile.object_key),
        components: explain(&profile.components, tag),
    }
}

/// Explains a multicast profile, whose group takes the place of an object key.
fn group(profile: UipmcProfile) -> ExplainedContent {
    let named = profile.components.iter().find(|it| it.tag == tag::GROUP);
    ExplainedContent::Addressed {
        version: Version::V1_2,
        key: key(named.map_or(&[], |it| &it.data)),
        components: explain(&profile.components, profile_tag::UIPMC),
        address: IiopEndpoint { host: profile.address, port: profile.port },
    }
}

/// Reports whether addresses in profiles with this tag are names of UNIX sockets.
fn is_of_sockets(tag: u32) -> bool {
    matches!(
        tag,
        profile_tag::TAO_UIOP | profile_tag::OXORB_LITE_UNIX | profile_tag::OXORB_LITE_RT_UNIX
    )
}

/// Explains a profile whose address is the name of a UNIX socket. In OxORB's own profiles, the
/// identity of the socket follows the name.
fn unix(profile: PlaceProfile) -> ExplainedContent {
    let (path, identity) = match profile.place.split_once('|') {
        Some((path, identity)) => match identity.parse() {
            Ok(identity) => (path.to_owned(), identity_fields(&identity)),
            Err(_) => (profile.place, Vec::new()),
        },
        None => (profile.place, Vec::new()),
    };
    ExplainedContent::Unix {
        version: profile.version,
        path,
        identity,
        key: key(&profile.object_key),
        components: explain(&profile.components, profile.tag),
    }
}

fn placed(profile: PlaceProfile) -> ExplainedContent {
    ExplainedContent::Placed {
        version: profile.version,
        place: profile.place,
        key: key(&profile.object_key),
        components: explain(&profile.components, profile.tag),
    }
}

fn multiple_components(data: &[u8]) -> Result<ExplainedContent, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let components = components::read(&mut d)?;
    Ok(ExplainedContent::Components(explain(&components, profile_tag::MULTIPLE_COMPONENTS)))
}

/// Explains the components of a profile with this tag.
fn explain(components: &[TaggedComponent], profile: u32) -> Vec<ExplainedComponent> {
    components.iter().map(|component| explain_one(component, profile)).collect()
}

fn explain_one(component: &TaggedComponent, profile: u32) -> ExplainedComponent {
    let fields = match component.tag {
        tag::POLICIES => policies::fields(&component.data),
        tag::CSI_SEC_MECH_LIST => security::fields(&component.data),
        tag::GROUP => Group::parse(&component.data).map(named_group),
        tag::RMI_CUSTOM_MAX_STREAM_FORMAT => stream_format(&component.data),
        tag::TAO_ENDPOINTS
            if profile == profile_tag::TAO_UIOP || profile_tag::is_placed(profile) =>
        {
            component.sockets().map(|it| sockets(it, profile))
        }
        _ => component.decode().map(fields),
    };
    let (fields, error) = match fields {
        Ok(fields) => (fields, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    ExplainedComponent {
        tag: component.tag,
        name: components::tag::name(component.tag),
        fields,
        error,
        hex: to_hex(&component.data),
    }
}

/// Explains the group of a multicast profile.
fn named_group(group: Group) -> Vec<ExplainedField> {
    let field = |label, value| ExplainedField { label, value };
    vec![
        field("domain", group.domain),
        field("group", group.id.to_string()),
        field("version", group.version.to_string()),
    ]
}

/// Explains the highest format of `writeObject` streams: an encapsulated octet.
fn stream_format(data: &[u8]) -> Result<Vec<ExplainedField>, Malformed> {
    let version = Decoder::encapsulated(data, Dialect::GIOP_1_2)?.octet()?;
    Ok(vec![ExplainedField { label: "stream format", value: format!("up to {version}") }])
}

/// Returns the text of an address and the priority of its lane, if there is one.
fn with_priority(address: &dyn core::fmt::Display, priority: i16) -> String {
    match priority {
        ..0 => address.to_string(),
        _ => format!("{address}, priority {priority}"),
    }
}

fn fields(component: DecodedComponent) -> Vec<ExplainedField> {
    let field = |label, value| ExplainedField { label, value };
    match component {
        DecodedComponent::OrbType(value) => {
            vec![field("ORB", named(orb_type::name(value), value))]
        }
        DecodedComponent::CodeSets(info) => {
            let mut fields = code_set_fields("char native", "char conversion", &info.for_char_data);
            fields.extend(code_set_fields(
                "wchar native",
                "wchar conversion",
                &info.for_wchar_data,
            ));
            fields
        }
        DecodedComponent::Policies(policies) => policies
            .iter()
            .map(|(kind, value)| field("policy", format!("type {kind}, value {}", to_hex(value))))
            .collect(),
        DecodedComponent::AlternateIiopAddress(endpoint) => {
            vec![field("address", endpoint.to_string())]
        }
        DecodedComponent::SslSecTrans { supports, requires, port } => vec![
            field("TLS port", port.to_string()),
            field("supports", association_options(supports)),
            field("requires", association_options(requires)),
        ],
        DecodedComponent::JavaCodebase(url) => vec![field("codebase", url)],
        DecodedComponent::TaoEndpoints(endpoints) => endpoints
            .iter()
            .map(|(endpoint, priority)| field("address", with_priority(endpoint, *priority)))
            .collect(),
        DecodedComponent::OmniorbUnix { host, path } => {
            vec![field("host", host), field("socket", path)]
        }
        DecodedComponent::OxorbSocket { name, identity } => {
            let mut fields = vec![field("socket", name)];
            fields.extend(identity_fields(&identity));
            fields
        }
        DecodedComponent::OxorbShmSocket { place, identity } => {
            let (sizes, name) = match place.split_once(':') {
                Some((sizes, name)) if !place.starts_with(['/', '@']) => (Some(sizes), name),
                _ => (None, &*place),
            };
            let mut fields = vec![field("meeting at", name.to_owned())];
            fields.extend(sizes.map(shared_memory));
            fields.extend(identity_fields(&identity));
            fields
        }
        DecodedComponent::OxorbDatagram(most) => {
            vec![field("largest datagram", format!("{most} octets"))]
        }
        DecodedComponent::Unknown => Vec::new(),
    }
}

/// Explains the sizes of memory: octets of a ring, and of blocks after a plus.
fn shared_memory(sizes: &str) -> ExplainedField {
    let text = match sizes.split_once('+') {
        Some((ring, blocks)) => format!("rings of {ring} octets, blocks of {blocks}"),
        None => format!("rings of {sizes} octets"),
    };
    ExplainedField { label: "memory", value: format!("{text}, in each direction") }
}

fn identity_fields(identity: &SocketIdentity) -> Vec<ExplainedField> {
    let field = |label, value| ExplainedField { label, value };
    let SocketIdentity { device, inode, .. } = identity;
    vec![
        field("host", format!("{} (since its start)", identity.host_text())),
        field("server", format!("uid {} of user namespace {}", identity.uid, identity.users)),
        field("within", format!("device {device:#x}, inode {inode}")),
    ]
}

fn sockets(sockets: Vec<(String, i16)>, profile: u32) -> Vec<ExplainedField> {
    let one = |(path, priority): (String, i16)| ExplainedField {
        label: match is_of_sockets(profile) {
            true => "socket",
            false => "address",
        },
        value: with_priority(&path, priority),
    };
    sockets.into_iter().map(one).collect()
}

fn code_set_fields(
    native: &'static str,
    conversion: &'static str,
    sets: &CodeSetComponent,
) -> Vec<ExplainedField> {
    let named_set = |&set: &u32| named(code_sets::name(set), set);
    let mut fields = vec![ExplainedField {
        label: native,
        value: if sets.native == 0 { "none".to_owned() } else { named_set(&sets.native) },
    }];
    if !sets.conversion.is_empty() {
        let value = sets.conversion.iter().map(named_set).collect::<Vec<_>>().join(", ");
        fields.push(ExplainedField { label: conversion, value });
    }
    fields
}

/// Returns the names of the bits in SSL association options (CSIv2; CORBA 3.4, 10.2.3).
fn association_options(bits: u16) -> String {
    const NAMES: [&str; 12] = [
        "NoProtection",
        "Integrity",
        "Confidentiality",
        "DetectReplay",
        "DetectMisordering",
        "EstablishTrustInTarget",
        "EstablishTrustInClient",
        "NoDelegation",
        "SimpleDelegation",
        "CompositeDelegation",
        "IdentityAssertion",
        "DelegationByClient",
    ];
    let set: Vec<_> = (0..16)
        .filter(|bit| bits >> bit & 1 == 1)
        .map(|bit| NAMES.get(bit).map_or_else(|| format!("bit {bit}"), |&name| name.to_owned()))
        .collect();
    if set.is_empty() { "nothing".to_owned() } else { set.join(", ") }
}

fn named(name: Option<&str>, value: u32) -> String {
    match name {
        Some(name) => format!("{name} ({value:#010x})"),
        None => format!("{value:#010x}"),
    }
}

fn key(octets: &[u8]) -> ExplainedKey {
    let maker = KEYS.iter().find(|(start, _)| octets.starts_with(start)).map(|(_, maker)| *maker);
    ExplainedKey {
        octets: octets.len(),
        text: octets.escape_ascii().to_string(),
        hex: to_hex(octets),
        maker,
    }
}

/// Prefixes of object keys that identify an ORB.
const KEYS: [(&[u8], &str); 2] = [(&[0x14, 0x01, 0x0f, 0x00], "TAO"), (b"OX1", "OxORB")];

fn to_hex(octets: &[u8]) -> String {
    let mut text = String::new();
    hex::push(&mut text, octets);
    text
}
