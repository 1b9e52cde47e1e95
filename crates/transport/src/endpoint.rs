//! Endpoints to listen on, and their text form.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Range;

use crate::{Access, Scheme};

/// Endpoint to listen on.
///
/// Its text is `PROTOCOL://[MAJOR.MINOR@]PLACE[/OPTION=VALUE&...]`. The transport defines the
/// syntax of `PLACE`, and its options in addition to `allow` and `deny`: see
/// [`tcp::Place`](crate::tcp::Place). Names of protocols are opaque to transports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name of the endpoint's protocol.
    pub protocol: Cow<'static, str>,
    /// Version to publish; `None` leaves it to the ORB. Opaque to transports.
    pub version: Option<(u8, u8)>,
    /// Place in the transport's own notation, in its canonical form.
    pub place: String,
    /// Transport's own options with non-default values.
    pub options: Vec<(&'static str, String)>,
    /// Separator between place and options.
    pub separator: char,
    /// Access rules for peers; without any, those of the ORB apply.
    pub access: Access,
}

impl Endpoint {
    /// Returns an endpoint without options.
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

    /// Name of the option that selects which received octets the ORB copies, for transports that
    /// lend memory.
    pub const PAYLOADS: &'static str = "payloads";

    /// Name of the option that sets how the ORB handles the pages of its connections
    /// ([`Pages`](crate::Pages)), for transports that share memory.
    pub const PAGES: &'static str = "pages";

    /// Returns the value of one of the transport's own options, if set.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().find(|(option, _)| *option == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Parses an option common to endpoints of all transports: `allow` or `deny`. Returns false for
    /// any other option.
    ///
    /// # Errors
    /// [`EndpointError`] if the value is neither a network nor another party of access rules.
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

/// Formats the endpoint so that parsing returns an equal one.
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

/// Error for a text that is not an endpoint.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointError {
    /// Complete text.
    pub text: String,
    /// Octet range of its faulty part.
    pub place: Range<usize>,
    /// Fault: a full sentence without the full stop.
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

/// Piece of a text with its position, so that errors can point to it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'t> {
    text: &'t str,
    whole: &'t str,
}

impl<'t> Part<'t> {
    /// Returns a complete text as a piece.
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

    /// Splits at an octet index.
    #[must_use]
    pub fn split_at(self, at: usize) -> (Self, Self) {
        let (before, after) = self.text.split_at(at);
        (self.piece(before), self.piece(after))
    }

    /// Returns the rest after a prefix; `None` without the prefix.
    #[must_use]
    pub fn after(self, prefix: &str) -> Option<Self> {
        Some(self.piece(self.text.strip_prefix(prefix)?))
    }

    /// Parses a `MAJOR.MINOR@` at the beginning and returns it with the rest.
    ///
    /// # Errors
    /// [`EndpointError`] if anything else precedes the `@`.
    pub fn version(self) -> Result<(Option<(u8, u8)>, Self), EndpointError> {
        let (version, Some(rest)) = self.split('@') else {
            return Ok((None, self));
        };
        let numbers = version.text.split_once('.');
        let numbers = numbers.and_then(|(major, minor)| Some((digits(major)?, digits(minor)?)));
        match numbers {
            Some(numbers) => Ok((Some(numbers), rest)),
            None => Err(version.error("a version must have the form MAJOR.MINOR, as in 1.2")),
        }
    }

    /// Returns an error about this piece.
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

/// Parses a decimal number without a sign.
fn digits(text: &str) -> Option<u8> {
    let all = text.bytes().all(|octet| octet.is_ascii_digit());
    text.parse().ok().filter(|_| all)
}
