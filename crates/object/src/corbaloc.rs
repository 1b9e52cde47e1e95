//! `corbaloc:` and `corbaname:` URLs (CORBA 3.4, 13.6.10).
//!
//! ```text
//! corbaloc:<address>[,<address>...][/<key>]
//! <address> = [iiop]:[<major>.<minor>@]<host>[:<port>]  |  rir:
//!           | <protocol>:[<major>.<minor>@]<place>
//!           | <protocol>:[<major>.<minor>@]<path>"|"
//! corbaname:<address>[,<address>...][/<key>][#<name>]
//! ```
//!
//! Places of other protocols are kept as text for whoever speaks them. One that begins with `/` or
//! `@`, as the path of a UNIX socket does, is ended by `|`, as TAO has it; behind the last of them
//! the key follows without a slash.

use core::fmt;
use core::str::FromStr;

use oxorb_cdr::Printable;

use crate::{
    CompletionStatus, IiopEndpoint, IiopProfile, Ior, SystemException, TaggedProfile, Version, hex,
    minor,
};

/// Port of an address that names none.
pub const DEFAULT_PORT: u16 = 2809;
/// Key of a URL that names none.
pub const DEFAULT_KEY: &[u8] = b"NameService";

/// A parsed `corbaloc:` URL: where, and which object there.
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
    /// Where the object is.
    pub location: Location,
    /// The object key, escapes resolved.
    pub key: Vec<u8>,
}

impl Corbaloc {
    /// Returns the reference it stands for: one profile per address, all with the same key, the type
    /// unknown. `None` for `rir:`, whose references are the ORB's own initial ones, and for addresses
    /// of protocols other than IIOP.
    pub fn to_ior(&self) -> Option<Ior> {
        self.to_ior_with(|other| Err(Error::Protocol(other.protocol.clone())))
            .ok()
            .flatten()
    }

    /// Returns the reference it stands for, as [`to_ior`](Self::to_ior), but has `profile` make those
    /// of other protocols. `None` for `rir:`.
    ///
    /// # Errors
    /// The first of `profile`.
    pub fn to_ior_with(
        &self,
        profile: impl Fn(&OtherAddress) -> Result<TaggedProfile, Error>,
    ) -> Result<Option<Ior>, Error> {
        let Location::Addresses(addresses) = &self.location else {
            return Ok(None);
        };
        let profile = |address: &Address| match address {
            Address::Iiop { version, endpoint } => {
                let IiopEndpoint { host, port } = endpoint;
                Ok(IiopProfile::new(*version, host, *port, &self.key).to_profile())
            }
            Address::Other(other) => profile(other),
        };
        Ok(Some(Ior {
            type_id: String::new(),
            profiles: addresses.iter().map(profile).collect::<Result<_, _>>()?,
        }))
    }

    /// Returns the URL of a reference: its IIOP addresses and the first profile's key. `None` when it
    /// has no IIOP profile.
    ///
    /// Loses the type id, components and foreign profiles; profiles with another key are left out.
    pub fn from_ior(ior: &Ior) -> Option<Self> {
        Self::from_ior_with(ior, |_| None)
    }

    /// Returns the URL of a reference, as [`from_ior`](Self::from_ior), but has `read` give key and
    /// addresses of the profiles of other protocols that it knows.
    pub fn from_ior_with(
        ior: &Ior,
        read: impl Fn(&TaggedProfile) -> Option<(Vec<u8>, Vec<OtherAddress>)>,
    ) -> Option<Self> {
        let mut key = None;
        let mut all = Vec::new();
        for tagged in &ior.profiles {
            let (object_key, addresses) = match IiopProfile::parse(tagged) {
                Ok(profile) => iiop_addresses(profile),
                Err(_) => match read(tagged) {
                    Some((key, others)) => (key, others.into_iter().map(Address::Other).collect()),
                    None => continue,
                },
            };
            if *key.get_or_insert_with(|| object_key.clone()) == object_key {
                all.extend(addresses);
            }
        }
        Some(Self {
            location: Location::Addresses(all),
            key: key?,
        })
        .filter(|url| !matches!(&url.location, Location::Addresses(all) if all.is_empty()))
    }
}

fn iiop_addresses(profile: IiopProfile) -> (Vec<u8>, Vec<Address>) {
    let version = profile.version.min(Version::V1_2);
    let endpoints = profile.endpoints().into_iter();
    let addresses = endpoints.map(|endpoint| Address::Iiop { version, endpoint });
    (profile.object_key, addresses.collect())
}

impl FromStr for Corbaloc {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let rest = strip_scheme(text, "corbaloc:").ok_or(Error::Scheme)?;
        parse_location_and_key(rest)
    }
}

impl fmt::Display for Corbaloc {
    /// The canonical form: protocol, version and port written out, the key escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaloc:")?;
        write_location_and_key(self, f)
    }
}

/// A parsed `corbaname:` URL: a naming context, and a name in it.
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
    /// The naming context.
    pub context: Corbaloc,
    /// The stringified name to resolve in it, escapes resolved; empty for the context itself.
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

/// Where the object of a [`Corbaloc`] is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Location {
    /// `rir:`, an initial reference of the ORB that resolves the URL; the key is its name.
    InitialReference,
    /// Addresses to try in order; never empty.
    Addresses(Vec<Address>),
}

/// One address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// `iiop:`
    Iiop {
        /// Highest GIOP version to use there; 1.0 when the URL names none.
        version: Version,
        /// Host and port; 2809 when the URL names none.
        endpoint: IiopEndpoint,
    },
    /// An address of another protocol.
    Other(OtherAddress),
}

/// An address of a protocol other than IIOP.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OtherAddress {
    /// Word before the colon, in lower case.
    pub protocol: String,
    /// Highest GIOP version to use there; 1.2 when the URL names none.
    pub version: Version,
    /// Place, in the protocol's own notation.
    pub place: String,
}

impl OtherAddress {
    /// An [`Error`] about this address.
    pub fn error(&self, why: &'static str) -> Error {
        Error::Address {
            address: self.to_string(),
            why,
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    /// Reads an IIOP address, `[<major>.<minor>@]<host>[:<port>]`.
    fn from_str(text: &str) -> Result<Self, Error> {
        parse_place(text).map_err(|why| Error::Address {
            address: text.to_owned(),
            why,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (version, IiopEndpoint { host, port }) = match self {
            Self::Iiop { version, endpoint } => (version, endpoint),
            Self::Other(other) => return other.fmt(f),
        };
        if host.contains(':') {
            let host = host.replace('%', "%25");
            write!(f, "iiop:{version}@[{host}]:{port}")
        } else {
            write!(f, "iiop:{version}@{host}:{port}")
        }
    }
}

impl fmt::Display for OtherAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if is_path(&self.place) { "|" } else { "" };
        write!(f, "{}:{}@{}{end}", self.protocol, self.version, self.place)
    }
}

/// Whether a place is one that `|` ends.
fn is_path(place: &str) -> bool {
    place.starts_with(['/', '@'])
}

/// What is wrong with a URL.
#[derive(Clone, PartialEq, Eq)]
pub enum Error {
    /// It does not start with `corbaloc:` or `corbaname:`.
    Scheme,
    /// An address is malformed.
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An address of a protocol we do not speak.
    Protocol(String),
    /// `rir:` together with other addresses, which cannot be.
    MixedInitialReference,
    /// A `%` that is not followed by two hexadecimal digits.
    Escape {
        /// The escape, as far as it goes.
        escape: String,
    },
    /// A name that is not UTF-8.
    Name,
}

impl Error {
    /// What `string_to_object` raises for it: BAD_PARAM, minor OMG 7 to 10.
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
            Self::Protocol(protocol) => {
                write!(
                    f,
                    "the protocol \"{}\" is not spoken here; write iiop:<host>:<port> or rir:",
                    Printable(protocol)
                )
            }
            Self::MixedInitialReference => f.write_str("\"rir:\" must be the only address"),
            Self::Escape { escape } => {
                write!(
                    f,
                    "\"{}\" is no escape: % must be followed by two hexadecimal digits",
                    Printable(escape)
                )
            }
            Self::Name => f.write_str("the name after # is not UTF-8"),
        }
    }
}

/// What follows the scheme, which is compared without case.
pub(crate) fn strip_scheme<'t>(text: &'t str, scheme: &str) -> Option<&'t str> {
    strip_ignoring_case(text.trim(), scheme)
}

fn parse_location_and_key(text: &str) -> Result<Corbaloc, Error> {
    let initial = strip_ignoring_case(text, "rir:");
    if let Some(key) = initial.filter(|key| key.is_empty() || key.starts_with('/')) {
        return Ok(Corbaloc {
            location: Location::InitialReference,
            key: parse_key(key.strip_prefix('/').unwrap_or(key))?,
        });
    }
    let mut addresses = Vec::new();
    let mut rest = text;
    let key = loop {
        let (address, more) = parse_address(rest)?;
        addresses.push(address);
        match more.strip_prefix(',') {
            Some(more) => rest = more,
            None => break more,
        }
    };
    // A path ends where the key begins; other addresses end with a slash.
    let key = match addresses.last() {
        Some(Address::Other(other)) if is_path(&other.place) => key,
        _ => key.strip_prefix('/').unwrap_or(key),
    };
    Ok(Corbaloc {
        key: parse_key(key)?,
        location: Location::Addresses(addresses),
    })
}

fn parse_key(text: &str) -> Result<Vec<u8>, Error> {
    let key = unescape(text)?;
    Ok(match key.is_empty() {
        true => DEFAULT_KEY.to_owned(),
        false => key,
    })
}

fn strip_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Reads `<protocol>:<address>`, and returns what follows it.
fn parse_address(text: &str) -> Result<(Address, &str), Error> {
    let (whole, more) = text.split_at(text.find([',', '/']).unwrap_or(text.len()));
    let malformed = |address: &str, why| Error::Address {
        address: address.to_owned(),
        why,
    };
    let Some((protocol, place)) = whole.split_once(':') else {
        return Err(malformed(
            whole,
            "it names no protocol, not even an empty one",
        ));
    };
    let protocol = protocol.to_ascii_lowercase();
    match protocol.as_str() {
        "" | "iiop" => return Ok((place.parse()?, more)),
        "rir" => return Err(Error::MixedInitialReference),
        _ => {}
    }
    // Places of other protocols may be paths, which hold slashes and commas.
    let text = &text[protocol.len() + 1..];
    let (version, from_place) = match split_version(text) {
        Some((version, rest)) => (
            parse_version(version)
                .ok_or_else(|| malformed(whole, "its version is not <major>.<minor>"))?,
            rest,
        ),
        None => (Version::V1_2, text),
    };
    let (place, more) = match is_path(from_place) {
        true => from_place
            .split_once('|')
            .ok_or_else(|| malformed(text, "its path is not ended by |"))?,
        false => from_place.split_at(from_place.find([',', '/']).unwrap_or(from_place.len())),
    };
    if place.is_empty() {
        return Err(malformed(whole, "it names no place"));
    }
    let place = place.to_owned();
    let other = OtherAddress {
        protocol,
        version,
        place,
    };
    Ok((Address::Other(other), more))
}

/// Splits at the `@` behind a version, if there is one: a path may hold others.
fn split_version(text: &str) -> Option<(&str, &str)> {
    let digits_and_dot = |c: char| c.is_ascii_digit() || c == '.';
    let rest = text.trim_start_matches(digits_and_dot);
    let version = &text[..text.len() - rest.len()];
    let rest = rest.strip_prefix('@')?;
    (!version.is_empty()).then_some((version, rest))
}

/// Reads `[<major>.<minor>@]<host>[:<port>]`; otherwise says what is wrong with it.
fn parse_place(text: &str) -> Result<Address, &'static str> {
    let (version, place) = match text.split_once('@') {
        Some((version, place)) => (
            parse_version(version).ok_or("its version is not <major>.<minor>")?,
            place,
        ),
        None => (Version::V1_0, text),
    };
    if version.major != 1 {
        return Err("only IIOP 1.x exists");
    }
    let (host, port) = match place.strip_prefix('[') {
        Some(bracketed) => split_bracketed(bracketed)?,
        None => match place.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address must stand in brackets");
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
        return Err("its host contains a character that no host name has");
    }
    let port = match port {
        None | Some("") => DEFAULT_PORT,
        Some(digits) => number(digits)
            .filter(|&port| port != 0)
            .ok_or("its port is not 1 to 65535")?,
    };
    Ok(Address::Iiop {
        version,
        endpoint: IiopEndpoint { host, port },
    })
}

/// Takes `<IPv6 address>][:<port>]` apart. A zone may follow the address as `%zone` or, properly escaped, `%25zone`.
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
    Some(Version {
        major: number(major)?,
        minor: number(minor)?,
    })
}

/// A decimal number without sign.
fn number<T: FromStr>(digits: &str) -> Option<T> {
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn write_location_and_key(url: &Corbaloc, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &url.location {
        Location::InitialReference => f.write_str("rir:")?,
        Location::Addresses(addresses) => {
            for (i, address) in addresses.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                write!(f, "{comma}{address}")?;
            }
            if let Some(Address::Other(other)) = addresses.last()
                && is_path(&other.place)
            {
                return escape(&url.key, f);
            }
        }
    }
    f.write_str("/")?;
    escape(&url.key, f)
}

/// Writes octets outside the URL's characters as `%HH`.
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

/// Resolves `%HH`; everything else stands for itself.
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
            return Err(Error::Escape {
                escape: format!("%{escape}"),
            });
        };
        octets.push(high << 4 | low);
        rest = &tail[2..];
    }
    Ok(octets)
}
