//! Endpoints: where to listen, as text.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use crate::{Access, Scheme};

/// An endpoint to listen on.
///
/// Its text is `PROTOCOL://[MAJOR.MINOR@]PLACE[/OPTION=VALUE&...]`. What may stand for `PLACE`, and
/// which options there are besides `allow` and `deny`, is the transport's own: see
/// [`tcp::Place`](crate::tcp::Place). Names of protocols are made by whoever joins transports and
/// messages; to a transport they are text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the protocol spoken there.
    pub protocol: Cow<'static, str>,
    /// Version to publish; `None` leaves it to the ORB. Opaque to transports.
    pub version: Option<(u8, u8)>,
    /// Place in the transport's own notation, in its canonical form.
    pub place: String,
    /// The transport's own options and their values, as far as they are no defaults.
    pub options: Vec<(&'static str, String)>,
    /// Character between place and options.
    pub separator: char,
    /// Rules about peers that may connect; without one, those of the ORB hold.
    pub access: Access,
}

impl Endpoint {
    /// An endpoint without options.
    pub fn new(scheme: Scheme, place: impl Into<String>) -> Self {
        Self {
            protocol: Cow::Borrowed(scheme.as_str()),
            version: None,
            place: place.into(),
            options: Vec::new(),
            separator: '/',
            access: Access::default(),
        }
    }

    /// Name of the option that says which octets the ORB copies of what comes there, of transports that lend memory.
    pub const PAYLOADS: &'static str = "payloads";

    /// Name of the option that says how the ORB handles the pages of its connections ([`Pages`](crate::Pages)), of
    /// transports that share memory.
    pub const PAGES: &'static str = "pages";

    /// Returns the value of an option of the transport's own, if the endpoint has it.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| *option == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Reads an option that endpoints of all transports have: `allow` and `deny`. Returns false for
    /// any other.
    ///
    /// # Errors
    /// When the value is no network and nobody else who may connect.
    pub fn common_option(
        &mut self,
        name: Part<'_>,
        value: Part<'_>,
    ) -> Result<bool, EndpointError> {
        let allow = match name.text() {
            "allow" => true,
            "deny" => false,
            _ => return Ok(false),
        };
        self.access.add(allow, value.text()).map_err(|error| value.error(error.problem))?;
        Ok(true)
    }
}

/// Writes it so that reading it back gives the same.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.protocol)?;
        if let Some((major, minor)) = self.version {
            write!(f, "{major}.{minor}@")?;
        }
        f.write_str(&self.place)?;
        let own = self.options.iter();
        let own = own.map(|(name, value)| (*name, value.clone()));
        let access = self.access.rules();
        let access = access.map(|(allow, who)| (if allow { "allow" } else { "deny" }, who));
        let mut separator = self.separator;
        for (name, value) in own.chain(access) {
            f.write_char(std::mem::replace(&mut separator, '&'))?;
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

/// Text that is no endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointError {
    /// The whole text.
    pub text: String,
    /// The faulty part of it, in octets.
    pub place: Range<usize>,
    /// The fault: a full sentence without the full stop.
    pub problem: Cow<'static, str>,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.text[self.place.clone()];
        write!(f, "endpoint {:?}, ", self.text)?;
        if place.is_empty() {
            write!(f, "octet {}", self.place.start)?;
        } else {
            write!(f, "at {place:?}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Debug for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for EndpointError {}

/// A piece of a text that knows its place in it, so that errors point there.
#[derive(Clone, Copy, Debug)]
pub struct Part<'t> {
    text: &'t str,
    whole: &'t str,
}

impl<'t> Part<'t> {
    /// The whole of a text.
    pub fn new(text: &'t str) -> Self {
        Self { text, whole: text }
    }

    /// Returns the text of this piece.
    pub fn text(self) -> &'t str {
        self.text
    }

    /// Splits at the first `separator`; `None` if there is none.
    #[must_use]
    pub fn split(self, separator: char) -> (Self, Option<Self>) {
        match self.text.split_once(separator) {
            Some((before, after)) => (self.piece(before), Some(self.piece(after))),
            None => (self, None),
        }
    }

    /// Splits at an octet.
    #[must_use]
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let (before, after) = self.text.split_at(at);
        (self.piece(before), self.piece(after))
    }

    /// Returns what stands behind a prefix.
    #[must_use]
    pub fn after(self, prefix: &str) -> Option<Self> {
        Some(self.piece(self.text.strip_prefix(prefix)?))
    }

    /// Reads a `MAJOR.MINOR@` at the beginning and returns it with the rest.
    ///
    /// # Errors
    /// When something else stands before the `@`.
    pub fn version(self) -> Result<(Option<(u8, u8)>, Self), EndpointError> {
        let (version, Some(rest)) = self.split('@') else {
            return Ok((None, self));
        };
        let numbers = version.text.split_once('.');
        let numbers = numbers.and_then(|(major, minor)| Some((digits(major)?, digits(minor)?)));
        match numbers {
            Some(numbers) => Ok((Some(numbers), rest)),
            None => Err(version.error("a version is written MAJOR.MINOR, as in 1.2")),
        }
    }

    /// An error about this piece.
    pub fn error(self, problem: impl Into<Cow<'static, str>>) -> EndpointError {
        let start = self.text.as_ptr() as usize - self.whole.as_ptr() as usize;
        EndpointError {
            text: self.whole.to_owned(),
            place: start..start + self.text.len(),
            problem: problem.into(),
        }
    }

    fn piece(self, text: &'t str) -> Self {
        Self { text, ..self }
    }
}

/// Reads a decimal number without a sign.
fn digits(text: &str) -> Option<u8> {
    let all = text.bytes().all(|octet| octet.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}
