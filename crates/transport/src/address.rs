//! Addresses of peers, independent of the transport.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Name of a transport, the word before the colon of its addresses: `tcp`, `unix`, `mem`.
///
/// The set of schemes is open: each transport defines its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme(&'static str);

impl Scheme {
    /// Returns the scheme with this name: lower-case letters, digits and hyphens.
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
/// Addresses are compared and hashed by their text. Each transport produces its addresses in one
/// canonical form, and parses them; other code passes them on. Cheap to clone.
///
/// A `|` may be followed by a part that distinguishes the server from others of the same name:
/// `unix:/run/bank|uid=7`. The transport verifies this part when connecting, and users do not see
/// it. An address without such a part refers to any server with the name.
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
    /// Returns the address of a place. `place` is the canonical text of the transport. Allocates.
    pub fn new(scheme: Scheme, place: &str) -> Self {
        Self { text: format!("{scheme}:{place}").into(), scheme: scheme.0.len() }
    }

    /// Returns the name of the transport.
    pub fn scheme(&self) -> &str {
        &self.text[..self.scheme]
    }

    /// Returns the part after the scheme, which only the transport interprets.
    pub fn place(&self) -> &str {
        &self.text[self.scheme + 1..]
    }

    /// Returns the place if the address is of this transport.
    pub fn of(&self, scheme: Scheme) -> Option<&str> {
        (self.scheme() == scheme.0).then(|| self.place())
    }

    /// Returns the text for logs and errors: without the scheme for TCP, the default, and without
    /// the verified part.
    pub fn for_people(&self) -> &str {
        let named = self.named();
        match self.scheme() {
            "tcp" => &named[self.scheme + 1..],
            _ => named,
        }
    }

    /// Returns the part after the scheme, without the verified part.
    pub fn name(&self) -> &str {
        &self.named()[self.scheme + 1..]
    }

    /// Returns the address without the verified part, which refers to any server with the name.
    #[must_use]
    pub fn bare(&self) -> Address {
        Self { text: self.named().into(), scheme: self.scheme }
    }

    /// Returns the verified part, if any.
    pub fn verified(&self) -> Option<&str> {
        self.text.split_once('|').map(|(_, verified)| verified)
    }

    /// Reports whether a connection to this address reaches the server at `own`, one of that
    /// server's own addresses.
    pub fn leads_to(&self, own: &Address) -> bool {
        self.text == own.text || (self.verified().is_none() && *self.text == *own.named())
    }

    fn named(&self) -> &str {
        let end = self.text.find('|').unwrap_or(self.text.len());
        &self.text[..end]
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        match text.split_once(':') {
            Some((scheme, _)) if !scheme.is_empty() && scheme.chars().all(name) => {
                Ok(Self { scheme: scheme.len(), text: text.into() })
            }
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

/// Error for a text without a scheme, which is not an [`Address`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: an address must have the form SCHEME:PLACE, as in tcp:10.0.0.7:2809")]
pub struct AddressError(String);

impl fmt::Debug for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_verified_tells_servers_of_one_name_apart() {
        let own = at("unix:/run/bank|uid=7");
        assert!(at("unix:/run/bank|uid=7").leads_to(&own));
        assert!(at("unix:/run/bank").leads_to(&own), "whoever is there");
        for other in ["unix:/run/bank|uid=8", "unix:/run/b", "mem:/run/bank"] {
            assert!(!at(other).leads_to(&own), "{other}");
        }
        assert!(!at("unix:/run/bank|uid=7").leads_to(&at("unix:/run/bank")));
        assert_eq!((own.name(), own.place()), ("/run/bank", "/run/bank|uid=7"));
        assert_eq!(own.for_people(), "unix:/run/bank");
        assert_eq!((own.verified(), own.bare().verified()), (Some("uid=7"), None));
        assert_eq!(own.bare(), at("unix:/run/bank"));
        assert_eq!(at("tcp:h:1").for_people(), "h:1");
    }
}
