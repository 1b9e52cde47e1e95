//! Names of sockets, endpoints of UNIX sockets, and their grammar.

use std::fmt;

use oxorb_sys::unix::{MAX_ABSTRACT, MAX_PATH};
use oxorb_transport::{Address, Endpoint, EndpointError, Part, Scheme};

use crate::unix::SCHEME;

/// Canonical name of a UNIX socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// New file that the server creates in the directory for temporary ones.
    Temporary,
    /// Path of a file.
    Path(String),
    /// Abstract name without a file (Linux), written `@NAME`; an empty one: the server chooses the
    /// name.
    Abstract(String),
}

impl Name {
    /// Parses a name in addresses and profiles: a path, or `@` and an abstract name.
    ///
    /// Repeated slashes and `.` steps are removed from a path, so that equal paths have equal
    /// texts.
    ///
    /// # Errors
    /// Sentence about a name that the system does not accept.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("the name of a UNIX socket cannot contain an octet 0".to_owned());
        }
        if text.contains('|') {
            return Err("the name of a UNIX socket cannot contain |, which ends it".to_owned());
        }
        if let Some(name) = text.strip_prefix('@') {
            return match name.len() {
                0..=MAX_ABSTRACT => Ok(Self::Abstract(name.to_owned())),
                octets => Err(format!(
                    "the abstract name of a UNIX socket can have at most {MAX_ABSTRACT} octets, and this one has \
                     {octets}"
                )),
            };
        }
        let path = canonical(text);
        match path.len() {
            0 => Err("the path of a UNIX socket is missing".to_owned()),
            1..=MAX_PATH => Ok(Self::Path(path)),
            octets => Err(format!(
                "the path of a UNIX socket can have at most {MAX_PATH} octets (sun_path), and this one has {octets}: \
                 choose a shorter one"
            )),
        }
    }

    /// Reports whether the server chooses the name.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Temporary => true,
            Self::Path(_) => false,
            Self::Abstract(name) => name.is_empty(),
        }
    }

    /// Returns the address of a socket with this name, in a scheme whose places are such names.
    pub fn address(&self, scheme: Scheme) -> Address {
        Address::new(scheme, &self.to_string())
    }
}

/// Formats the name as [`Name::read`] parses it; a temporary one is empty.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Temporary => Ok(()),
            Self::Path(path) => f.write_str(path),
            Self::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

/// Removes redundant steps from a path. `..` stays, as it is significant after a symbolic link.
fn canonical(path: &str) -> String {
    let steps = path.split('/');
    let steps: Vec<_> = steps.filter(|step| !matches!(*step, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", steps.join("/"))
}

/// Place of an [`Endpoint`] of UNIX sockets.
///
/// # Grammar
///
/// TAO's notation and, in the second line, omniORB's. The words before it (`uiop://`, `giop:unix:`)
/// belong to the protocol.
///
/// ```text
/// url       = [ address *( "," address ) ] [ "|" option *( "&" option ) ]
/// colon     = [ path ]
/// address   = [ version "@" ] [ path | "@" [ name ] ]
/// option    = "mode=" octal | ( "allow=" | "deny=" ) who
/// who       = "uid:" number | "gid:" number | "all"
/// ```
///
/// A path is absolute; an empty one is a new file in the directory for temporary ones. `@name` is
/// an abstract name (Linux): without a file, and so without permissions except `allow` and `deny`.
/// `@` alone is an unused abstract name.
///
/// ```
/// use oxorb_transport::{Notation, Part, Transport};
/// use oxorb_protocols::unix::{Name, Place, Unix};
///
/// let read = |text| Unix.endpoints(Notation::Url, Part::new(text));
/// let endpoints = read("/run/bank,1.1@/run/till|mode=0660&allow=gid:100")?;
/// assert_eq!(Place::of(&endpoints[0]).name, Name::Path("/run/bank".to_owned()));
/// assert_eq!(Place::of(&endpoints[0]).mode, Some(0o660));
/// assert_eq!(endpoints[1].version, Some((1, 1)));
/// assert_eq!(Place::of(&read("@bank")?[0]).name, Name::Abstract("bank".to_owned()));
///
/// let error = read("run/bank").unwrap_err().to_string();
/// assert!(error.ends_with("three slashes, as in uiop:///run/bank"), "{error}");
/// # Ok::<(), oxorb_transport::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the socket.
    pub name: Name,
    /// Permissions of the file; `None`: set by the umask.
    pub mode: Option<u32>,
}

const MODE: &str = "mode";

impl Place {
    /// Returns a place with default permissions.
    pub fn new(name: Name) -> Self {
        Self { name, mode: None }
    }

    /// Returns the place of an endpoint of UNIX sockets. Any other endpoint is treated as a path at
    /// which no process can listen.
    pub fn of(endpoint: &Endpoint) -> Self {
        let name = match endpoint.place.as_str() {
            "" => Name::Temporary,
            text => Name::read(text).unwrap_or_else(|_| Name::Path(text.to_owned())),
        };
        let mode = endpoint.options.iter().find(|(name, _)| *name == MODE);
        Self { name, mode: mode.and_then(|(_, value)| u32::from_str_radix(value, 8).ok()) }
    }

    /// Returns the place as an endpoint; version, protocol, access rules and other options are
    /// those of `like`.
    pub fn endpoint(&self, like: &Endpoint) -> Endpoint {
        let mode = self.mode.map(|mode| (MODE, format!("{mode:04o}")));
        let others = like.options.iter().filter(|(name, _)| *name != MODE);
        Endpoint {
            place: self.name.to_string(),
            options: mode.into_iter().chain(others.cloned()).collect(),
            separator: '|',
            ..like.clone()
        }
    }
}

/// Endpoint option of another transport over UNIX sockets.
#[derive(Clone, Copy, Debug)]
pub struct OwnOption {
    /// Name of the option.
    pub name: &'static str,
    /// Parser of the value, which returns its canonical form; `None` for the default.
    pub read: fn(Part<'_>) -> Result<Option<String>, EndpointError>,
}

/// Parses TAO's notation, after `uiop://`.
pub(crate) fn url(text: Part<'_>) -> Result<Vec<Endpoint>, EndpointError> {
    read_urls(text, SCHEME, &[], "the options are mode, allow and deny")
}

/// Parses the text after `PROTOCOL://` as described for [`Place`], for a transport with its own
/// scheme and options. `all` lists all options, for the error about an unknown one.
///
/// # Errors
/// [`EndpointError`] with the position in the text and the fault.
pub fn read_urls(
    text: Part<'_>,
    scheme: Scheme,
    own: &[OwnOption],
    all: &'static str,
) -> Result<Vec<Endpoint>, EndpointError> {
    let (addresses, options) = text.split('|');
    let mut like = Endpoint::new(scheme, "");
    let mut mode = None;
    let mut rest = options.filter(|options| !options.text().is_empty());
    while let Some(part) = rest {
        let (one, more) = part.split('&');
        rest = more;
        let (name, Some(value)) = one.split('=') else {
            return Err(one.error("an option must have the form NAME=VALUE"));
        };
        if name.text() == MODE {
            mode = Some(octal(value)?);
        } else if let Some(option) = own.iter().find(|it| it.name == name.text()) {
            like.options.retain(|(name, _)| *name != option.name);
            let read = (option.read)(value)?;
            like.options.extend(read.map(|value| (option.name, value)));
        } else if !like.common_option(name, value)? {
            return Err(name.error(all));
        }
    }
    let mut endpoints = Vec::new();
    let mut rest = Some(addresses);
    while let Some(part) = rest {
        let (one, more) = part.split(',');
        rest = more;
        // The `@` of a version must be distinguished from others: a path may contain an `@`, and an abstract name
        // begins with one.
        let (version, address) = match one.text().starts_with(['/', '@']) {
            true => (None, one),
            false => one.version()?,
        };
        let place = Place { name: name(address, scheme)?, mode };
        if mode.is_some() && matches!(place.name, Name::Abstract(_)) {
            return Err(address.error("an abstract name has no file whose mode could be set"));
        }
        endpoints.push(Endpoint { version, ..place.endpoint(&like) });
    }
    Ok(endpoints)
}

/// Parses omniORB's notation, after `giop:unix:`.
pub(crate) fn colon(text: Part<'_>) -> Result<Endpoint, EndpointError> {
    if text.text().contains(',') {
        return Err(text.error("a comma separates addresses in URLs: choose a name without one"));
    }
    let place = Place::new(name(text, SCHEME)?);
    Ok(place.endpoint(&Endpoint::new(SCHEME, "")))
}

fn name(text: Part<'_>, scheme: Scheme) -> Result<Name, EndpointError> {
    if text.text().is_empty() {
        return Ok(Name::Temporary);
    }
    match Name::read(text.text()) {
        Ok(Name::Path(path)) if !path.starts_with('/') => {
            // URLs of UNIX sockets use TAO's name of the protocol, which is not the scheme of addresses.
            let word = if scheme == SCHEME { "uiop" } else { scheme.as_str() };
            Err(text.error(format!(
                "the path must be absolute, and therefore written with three slashes, as in {word}:///{path}"
            )))
        }
        Ok(name) => Ok(name),
        Err(problem) => Err(text.error(problem)),
    }
}

fn octal(value: Part<'_>) -> Result<u32, EndpointError> {
    let digits = value.text().bytes().all(|it| (b'0'..=b'7').contains(&it));
    let mode = u32::from_str_radix(value.text(), 8).ok();
    let mode = mode.filter(|mode| digits && *mode <= 0o777);
    mode.ok_or_else(|| value.error("the mode of a file must be an octal number from 0 to 777"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Endpoint>, String> {
        url(Part::new(text)).map_err(|error| error.problem.into_owned())
    }

    #[test]
    fn every_form_reads_back() {
        for (text, written) in [
            ("", "unix://"),
            ("/a", "unix:///a"),
            ("1.1@/a@b", "unix://1.1@/a@b"),
            ("@", "unix://@"),
            ("@bank", "unix://@bank"),
            ("1.2@@bank", "unix://1.2@@bank"),
            ("/a//b/./c/", "unix:///a/b/c"),
            ("/a|mode=660", "unix:///a|mode=0660"),
            ("/a|", "unix:///a"),
            ("|mode=600&deny=uid:7&allow=all", "unix://|mode=0600&deny=uid:7&allow=all"),
        ] {
            let endpoints = read(text).unwrap();
            assert_eq!(endpoints.len(), 1, "{text}");
            assert_eq!(endpoints[0].to_string(), written);
            let again = read(written.strip_prefix("unix://").unwrap()).unwrap();
            assert_eq!(again, endpoints, "{text}");
        }
    }

    #[test]
    fn a_list_shares_its_options() {
        let endpoints = read("1.1@/a,1.2@/b|mode=0600").unwrap();
        let text: Vec<_> = endpoints.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["unix://1.1@/a|mode=0600", "unix://1.2@/b|mode=0600"]);
        assert_eq!(endpoints[0].version, Some((1, 1)));
    }

    #[test]
    fn what_cannot_be_is_explained() {
        let long = format!("/{}", "x".repeat(MAX_PATH));
        for (text, part) in [
            (long.as_str(), "at most 107 octets (sun_path), and this one has 108"),
            (&long.replace('/', "@x"), "at most 107 octets, and this one has 108"),
            ("tmp/sock", "uiop:///tmp/sock"),
            ("x@/a", "MAJOR.MINOR"),
            ("/a|mode=999", "octal"),
            ("/a|mode=1777", "octal"),
            ("/a|mode=+7", "octal"),
            ("/a|portspan=2", "mode, allow and deny"),
            ("/a|mode", "NAME=VALUE"),
            ("@a|mode=600", "no file"),
            ("/a|allow=bob", "uid:NUMBER"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(read(&long[..MAX_PATH]).is_ok());
    }

    #[test]
    fn names_of_addresses_are_canonical() {
        for (text, name) in [("/run//x", "/run/x"), ("x/./y", "x/y"), ("@x//y", "@x//y")] {
            assert_eq!(Name::read(text).unwrap().to_string(), name);
        }
        assert!(Name::read("").is_err());
        assert!(Name::read("/a\0").is_err());
    }
}
