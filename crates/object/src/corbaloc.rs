//! `corbaloc:` and `corbaname:` URLs (CORBA 3.4, 13.6.10).
//!
//! ```text
//! corbaloc:<address>[,<address>...][/<key>]
//! <address> = [iiop]:[<major>.<minor>@]<host>[:<port>]  |  rir:
//! corbaname:<address>[,<address>...][/<key>][#<name>]
//! ```

use crate::prelude::*;
use core::fmt;
use core::str::FromStr;

use oxorb_cdr::Printable;

use crate::{
    CompletionStatus, IiopEndpoint, IiopProfile, Ior, SystemException, Version, hex, minor,
};

/// Default port of an address.
pub const DEFAULT_PORT: u16 = 2809;
/// Default key of a URL.
pub const DEFAULT_KEY: &[u8] = b"NameService";

/// Parsed `corbaloc:` URL: the addresses, and the key of the object.
///
/// ```
/// use oxorb_object::Corbaloc;
/// let url: Corbaloc = "corbaloc::1.2@[::1]:4711,iiop:backup/Sensors/left%20wing".parse()?;
/// assert_eq!(url.key, b"Sensors/left wing");
/// assert_eq!(url.to_string(), "corbaloc:iiop:1.2@[::1]:4711,iiop:1.0@backup:2809/Sensors/left%20wing");
/// # Ok::<(), oxorb_object::corbaloc::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Corbaloc {
    /// Location of the object.
    pub location: Location,
    /// Object key, with escapes resolved.
    pub key: Vec<u8>,
}

impl Corbaloc {
    /// Returns the reference that the URL stands for: one IIOP profile per address, all with the
    /// same key, the type unknown. `None` for `rir:`, which denotes the ORB's own initial
    /// references.
    pub fn to_ior(&self) -> Option<Ior> {
        let Location::Iiop(addresses) = &self.location else {
            return None;
        };
        let profile = |address: &Address| {
            IiopProfile::new(
                address.version,
                &address.endpoint.host,
                address.endpoint.port,
                &self.key,
            )
            .to_profile()
        };
        Some(Ior { type_id: String::new(), profiles: addresses.iter().map(profile).collect() })
    }

    /// Returns the URL of a reference: its IIOP addresses and the first profile's key. `None`
    /// without an IIOP profile.
    ///
    /// Loses the type id, components and foreign profiles; omits profiles with another key.
    pub fn from_ior(ior: &Ior) -> Option<Self> {
        let mut profiles = ior.iiop_profiles().peekable();
        let key = profiles.peek()?.object_key.clone();
        let mut addresses = Vec::new();
        for profile in profiles.filter(|profile| profile.object_key == key) {
            let version = profile.version.min(Version::V1_2);
            addresses.extend(
                profile.endpoints().into_iter().map(|endpoint| Address { version, endpoint }),
            );
        }
        if addresses.is_empty() {
            return None;
        }
        Some(Self { location: Location::Iiop(addresses), key })
    }
}

impl FromStr for Corbaloc {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = strip_scheme(text, "corbaloc:").ok_or(Error::Scheme)?;
        parse_location_and_key(rest)
    }
}

impl fmt::Display for Corbaloc {
    /// Writes the canonical form: explicit protocol, version and port, escaped key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaloc:")?;
        write_location_and_key(self, f)
    }
}

/// Parsed `corbaname:` URL: a naming context, and a name in it.
///
/// ```
/// use oxorb_object::Corbaname;
/// let url: Corbaname = "corbaname::host#bank/teller%201".parse()?;
/// assert_eq!(url.context.key, b"NameService");
/// assert_eq!(url.name, "bank/teller 1");
/// assert_eq!(url.to_string(), "corbaname:iiop:1.0@host:2809/NameService#bank/teller%201");
/// # Ok::<(), oxorb_object::corbaloc::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Corbaname {
    /// Naming context.
    pub context: Corbaloc,
    /// Stringified name to resolve in it, with escapes resolved; empty for the context itself.
    pub name: String,
}

impl FromStr for Corbaname {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = strip_scheme(text, "corbaname:").ok_or(Error::Scheme)?;
        let (context, name) = rest.split_once('#').unwrap_or((rest, ""));
        let context = parse_location_and_key(context)?;
        let name = String::from_utf8(unescape(name)?).map_err(|_| Error::Name)?;
        Ok(Self { context, name })
    }
}

impl fmt::Display for Corbaname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaname:")?;
        write_location_and_key(&self.context, f)?;
        if !self.name.is_empty() {
            f.write_str("#")?;
            escape(self.name.as_bytes(), f)?;
        }
        Ok(())
    }
}

/// Location of the object of a [`Corbaloc`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Location {
    /// `rir:`, an initial reference of the ORB that resolves the URL; the key is its name.
    InitialReference,
    /// TCP addresses to be tried in order; never empty.
    Iiop(Vec<Address>),
}

/// Address of protocol `iiop:`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Address {
    /// Highest GIOP version to use at this address; by default 1.0.
    pub version: Version,
    /// Host and port; the default port is 2809.
    pub endpoint: IiopEndpoint,
}

impl FromStr for Address {
    type Err = Error;

    /// Parses `[<major>.<minor>@]<host>[:<port>]`.
    fn from_str(text: &str) -> Result<Self, Error> {
        parse_place(text).map_err(|why| Error::Address { address: text.to_owned(), why })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IiopEndpoint { host, port } = &self.endpoint;
        if host.contains(':') {
            let host = host.replace('%', "%25");
            write!(f, "{}@[{host}]:{port}", self.version)
        } else {
            write!(f, "{}@{host}:{port}", self.version)
        }
    }
}

/// Error in a URL.
#[derive(Clone, PartialEq, Eq)]
pub enum Error {
    /// The URL does not start with `corbaloc:` or `corbaname:`.
    Scheme,
    /// An address is malformed.
    Address {
        /// Malformed address.
        address: String,
        /// Description of the error.
        why: &'static str,
    },
    /// An address of an unsupported protocol.
    Protocol(String),
    /// `rir:` together with other addresses, which is invalid.
    MixedInitialReference,
    /// A `%` that is not followed by two hexadecimal digits.
    Escape {
        /// Escape sequence, possibly truncated.
        escape: String,
    },
    /// A name that is not UTF-8.
    Name,
}

impl Error {
    /// Returns the exception that `string_to_object` raises for the error: BAD_PARAM, minor OMG 7
    /// to 10.
    pub fn to_exception(&self) -> SystemException {
        let minor = match self {
            Self::Scheme => minor::bad_param::URL_SCHEME,
            Self::Address { .. } | Self::Protocol(_) | Self::MixedInitialReference => {
                minor::bad_param::URL_ADDRESS
            }
            Self::Escape { .. } => minor::bad_param::URL_SCHEME_SPECIFIC,
            Self::Name => minor::bad_param::URL_OTHER,
        };
        SystemException::bad_param(minor, CompletionStatus::No)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => {
                f.write_str("the URL starts with neither \"corbaloc:\" nor \"corbaname:\"")
            }
            Self::Address { address, why } => write!(
                f,
                "the address \"{}\" is malformed: {why}; the form is [iiop]:[<major>.<minor>@]<host>[:<port>]",
                Printable(address)
            ),
            Self::Protocol(protocol) if protocol.eq_ignore_ascii_case("iiops") => f.write_str(
                "the protocol \"iiops\" (IIOP over TLS) is not supported by this program: it needs the feature tls",
            ),
            Self::Protocol(protocol) => {
                write!(
                    f,
                    "the protocol \"{}\" is not supported; write iiop:<host>:<port> or rir:",
                    Printable(protocol)
                )
            }
            Self::MixedInitialReference => f.write_str("\"rir:\" must be the only address"),
            Self::Escape { escape } => {
                write!(
                    f,
                    "\"{}\" is not an escape: % must be followed by two hexadecimal digits",
                    Printable(escape)
                )
            }
            Self::Name => f.write_str("the name after # is not UTF-8"),
        }
    }
}

/// Returns the text after the scheme, which is compared case-insensitively.
pub(crate) fn strip_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    let (start, rest) = text.trim().split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn parse_location_and_key(text: &str) -> Result<Corbaloc, Error> {
    let (addresses, key) = match text.split_once('/') {
        Some((addresses, key)) => (addresses, unescape(key)?),
        None => (text, Vec::new()),
    };
    let key = if key.is_empty() { DEFAULT_KEY.to_owned() } else { key };
    if addresses.eq_ignore_ascii_case("rir:") {
        return Ok(Corbaloc { location: Location::InitialReference, key });
    }
    let location =
        addresses.split(',').map(parse_address).collect::<Result<_, _>>().map(Location::Iiop)?;
    Ok(Corbaloc { location, key })
}

/// Parses `<protocol>:<address>`.
fn parse_address(text: &str) -> Result<Address, Error> {
    let Some((protocol, address)) = text.split_once(':') else {
        let why = "it names no protocol, not even an empty one";
        return Err(Error::Address { address: text.to_owned(), why });
    };
    match protocol {
        "" => address.parse(),
        iiop if iiop.eq_ignore_ascii_case("iiop") => address.parse(),
        rir if rir.eq_ignore_ascii_case("rir") => Err(Error::MixedInitialReference),
        other => Err(Error::Protocol(other.to_owned())),
    }
}

/// Parses `[<major>.<minor>@]<host>[:<port>]`, or returns a description of the error.
fn parse_place(text: &str) -> Result<Address, &'static str> {
    let (version, place) = match text.split_once('@') {
        Some((version, place)) => {
            (parse_version(version).ok_or("its version must have the form <major>.<minor>")?, place)
        }
        None => (Version::V1_0, text),
    };
    if version.major != 1 {
        return Err("only IIOP 1.x is supported");
    }
    let (host, port) = match place.strip_prefix('[') {
        Some(bracketed) => split_bracketed(bracketed)?,
        None => match place.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address must be in brackets");
            }
            Some((host, port)) => (host.to_owned(), Some(port)),
            None => (place.to_owned(), None),
        },
    };
    if host.is_empty() {
        return Err("it names no host");
    }
    let never_in_a_host = |octet: u8| octet.is_ascii_control() || b" []@#".contains(&octet);
    if host.bytes().any(never_in_a_host) {
        return Err("its host contains a character that is not allowed in host names");
    }
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        Some(digits) => {
            number(digits).filter(|&port| port != 0).ok_or("its port must be from 1 to 65535")?
        }
    };
    Ok(Address { version, endpoint: IiopEndpoint { host, port } })
}

/// Splits `<IPv6 address>][:<port>]`. A zone may follow the address as `%zone` or, properly
/// escaped, `%25zone`.
fn split_bracketed(text: &str) -> Result<(String, Option<&str>), &'static str> {
    let (inside, rest) = text.split_once(']').ok_or("a bracket is not closed")?;
    let (address, zone) = match inside.split_once('%') {
        Some((address, zone)) => (address, Some(zone.strip_prefix("25").unwrap_or(zone))),
        None => (inside, None),
    };
    if address.parse::<core::net::Ipv6Addr>().is_err() {
        return Err("there is no IPv6 address in the brackets");
    }
    if zone.is_some_and(|zone| zone.contains('%')) {
        return Err("the zone of its IPv6 address contains another %");
    }
    let host = zone.map_or(address.to_owned(), |zone| format!("{address}%{zone}"));
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((host, None)),
        None => Err("after the bracket only :<port> may follow"),
        port => Ok((host, port)),
    }
}

fn parse_version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some(Version { major: number(major)?, minor: number(minor)? })
}

/// Parses a decimal number without sign.
fn number<T: FromStr>(digits: &str) -> Option<T> {
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn write_location_and_key(url: &Corbaloc, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &url.location {
        Location::InitialReference => f.write_str("rir:")?,
        Location::Iiop(addresses) => {
            for (i, address) in addresses.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                write!(f, "{comma}iiop:{address}")?;
            }
        }
    }
    f.write_str("/")?;
    escape(&url.key, f)
}

/// Returns an object key in the escaped form of a `corbaloc:` URL.
///
/// ```
/// use oxorb_object::{escape_key, unescape_key};
///
/// let text = escape_key(b"Radar\x00 7");
/// assert_eq!(text, "Radar%00%207");
/// assert_eq!(unescape_key(&text).unwrap(), b"Radar\x00 7");
/// ```
pub fn escape_key(key: &[u8]) -> String {
    struct Escaped<'k>(&'k [u8]);
    impl fmt::Display for Escaped<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            escape(self.0, f)
        }
    }
    Escaped(key).to_string()
}

/// Returns the octets of an [escaped](escape_key) object key; `None` if a `%` is not followed by
/// two hexadecimal digits.
pub fn unescape_key(text: &str) -> Option<Vec<u8>> {
    unescape(text).ok()
}

/// Writes octets not allowed in a URL as `%HH`.
fn escape(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for &octet in octets {
        if octet.is_ascii_alphanumeric() || b";/:?@&=+$,-_.!~*'()".contains(&octet) {
            write!(f, "{}", char::from(octet))?;
        } else {
            write!(f, "%{octet:02x}")?;
        }
    }
    Ok(())
}

/// Resolves `%HH`; all other characters are unchanged.
fn unescape(text: &str) -> Result<Vec<u8>, Error> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            octets.push(*first);
            continue;
        }
        let digits = tail
            .first_chunk::<2>()
            .and_then(|&[high, low]| Some((hex::digit(high)?, hex::digit(low)?)));
        let Some((high, low)) = digits else {
            let escape = String::from_utf8_lossy(&tail[..tail.len().min(2)]);
            return Err(Error::Escape { escape: format!("%{escape}") });
        };
        octets.push(high << 4 | low);
        rest = &tail[2..];
    }
    Ok(octets)
}
