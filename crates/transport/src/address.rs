//! Where a peer is reached, whatever the transport.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Name of a transport, the word before the colon of its addresses: `tcp`, `unix`, `mem`.
///
/// Open: whoever writes a transport makes its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme(&'static str);

impl Scheme {
    /// A scheme by its name: lower-case letters, digits and hyphens.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Address of a peer as canonical text, `SCHEME:PLACE`: `tcp:10.0.0.7:2809`, `tcp:[::1]:5`,
/// `unix:/run/bank`, `mem:bank`.
///
/// Addresses are equal if their text is, and are compared and hashed by it. Each transport makes
/// its own, always in one form, and takes them apart; everybody else passes them on. Cheap to
/// clone.
///
/// ```
/// use oxorb_transport::{Address, tcp};
///
/// let address = tcp::address("::1", 2809);
/// assert_eq!(address.to_string(), "tcp:[::1]:2809");
/// assert_eq!(address, "tcp:[::1]:2809".parse()?);
/// assert_eq!((address.scheme(), address.place()), ("tcp", "[::1]:2809"));
/// assert!("nowhere".parse::<Address>().is_err());
/// # Ok::<(), oxorb_transport::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Address {
    text: Arc<str>,
    /// Length of the scheme.
    scheme: usize,
}

impl Address {
    /// Makes the address of a place. `place` is the canonical text of the transport. Allocates.
    pub fn new(scheme: Scheme, place: &str) -> Self {
        Self {
            text: format!("{scheme}:{place}").into(),
            scheme: scheme.0.len(),
        }
    }

    /// Returns the name of the transport.
    pub fn scheme(&self) -> &str {
        &self.text[..self.scheme]
    }

    /// Returns the transport's own part.
    pub fn place(&self) -> &str {
        &self.text[self.scheme + 1..]
    }

    /// Returns the place if the address is of this transport.
    pub fn of(&self, scheme: Scheme) -> Option<&str> {
        (self.scheme() == scheme.0).then(|| self.place())
    }

    /// Returns the text that people expect in logs and errors: without its scheme for TCP, which is
    /// what everybody assumes.
    pub fn for_people(&self) -> &str {
        match self.scheme() {
            "tcp" => self.place(),
            _ => &self.text,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match text.split_once(':') {
            Some((scheme, _)) if !scheme.is_empty() && scheme.chars().all(name) => Ok(Self {
                scheme: scheme.len(),
                text: text.into(),
            }),
            _ => Err(AddressError(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Text without a scheme, which is no [`Address`].
#[derive(Clone, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = "an address is written SCHEME:PLACE, as in tcp:10.0.0.7:2809";
        write!(f, "{:?}: {form}", self.0)
    }
}

impl fmt::Debug for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for AddressError {}
