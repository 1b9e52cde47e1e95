//! Textual forms of references.

use crate::prelude::*;
use core::fmt;

use oxorb_cdr::Printable;

use crate::{
    CompletionStatus, Corbaloc, Corbaname, Ior, IorError, SystemException, corbaloc, minor,
};

/// Parsed, unresolved reference text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Url {
    /// `IOR:...`
    Ior(Ior),
    /// `corbaloc:...`
    Corbaloc(Corbaloc),
    /// `corbaname:...`
    Corbaname(Corbaname),
    /// `file:...`: the decoded path of a file that contains a reference in any of these forms.
    File(String),
}

/// Parses a textual reference. Does not read files or resolve names.
///
/// Schemes are compared case-insensitively; surrounding white space is ignored. A `file:` URL
/// denotes a file of this host; the path may follow `//` or `//localhost`. `%HH` in it is an octet,
/// if every `%` is followed by two hexadecimal digits and the resulting path is UTF-8; otherwise
/// the path is used unchanged.
///
/// ```
/// use oxorb_object::{Url, parse_reference};
/// assert!(matches!(parse_reference("corbaloc::host/key"), Ok(Url::Corbaloc(_))));
/// assert_eq!(parse_reference("file:///tmp/server.ior"), Ok(Url::File("/tmp/server.ior".into())));
/// assert!(parse_reference("http://example.org").unwrap_err().to_string().contains("corbaloc:"));
/// ```
///
/// # Errors
/// [`ReferenceError`] for an invalid reference.
pub fn parse_reference(text: &str) -> Result<Url, ReferenceError> {
    let text = text.trim();
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("ior") => text.parse().map(Url::Ior).map_err(ReferenceError::Ior),
        Some("corbaloc") => text.parse().map(Url::Corbaloc).map_err(ReferenceError::Corbaloc),
        Some("corbaname") => text.parse().map(Url::Corbaname).map_err(ReferenceError::Corbaloc),
        Some("file") => file(text),
        _ => Err(ReferenceError::Scheme { text: shortened(text) }),
    }
}

/// Reason why text is not a valid reference.
#[derive(Clone, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text starts with no known scheme.
    Scheme {
        /// Start of the text.
        text: String,
    },
    /// A malformed `IOR:`.
    Ior(IorError),
    /// A malformed `corbaloc:` or `corbaname:`.
    Corbaloc(corbaloc::Error),
    /// `file:` without a path.
    NoPath,
}

impl ReferenceError {
    /// Returns the exception that `string_to_object` raises for the error.
    pub fn to_exception(&self) -> SystemException {
        match self {
            Self::Scheme { .. } => {
                SystemException::bad_param(minor::bad_param::URL_SCHEME, CompletionStatus::No)
            }
            Self::Ior(error) => error.to_exception(),
            Self::Corbaloc(error) => error.to_exception(),
            Self::NoPath => {
                SystemException::bad_param(minor::bad_param::URL_ADDRESS, CompletionStatus::No)
            }
        }
    }
}

impl fmt::Debug for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for ReferenceError {}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme { text } => write!(
                f,
                "\"{}\" is not an object reference; references start with IOR:, corbaloc:, corbaname: or file:",
                Printable(text)
            ),
            Self::Ior(error) => error.fmt(f),
            Self::Corbaloc(error) => error.fmt(f),
            Self::NoPath => {
                f.write_str("\"file:\" must be followed by a path, as in file:///tmp/server.ior")
            }
        }
    }
}

fn file(text: &str) -> Result<Url, ReferenceError> {
    const HOST: &str = "localhost/";
    let path = corbaloc::strip_scheme(text, "file:").unwrap_or_default();
    let path = match path.strip_prefix("//") {
        None => path,
        Some(url) => match url.get(..HOST.len()) {
            Some(host) if host.eq_ignore_ascii_case(HOST) => &url[HOST.len() - 1..],
            _ => url,
        },
    };
    if path.is_empty() {
        return Err(ReferenceError::NoPath);
    }
    // The path may be unescaped and contain a `%`; if it cannot be decoded, it is used unchanged.
    let octets = corbaloc::unescape_key(path);
    let decoded = octets.and_then(|octets| String::from_utf8(octets).ok());
    Ok(Url::File(decoded.unwrap_or_else(|| path.into())))
}

/// Returns enough of a text to recognise it in a message.
fn shortened(text: &str) -> String {
    const ENOUGH: usize = 40;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
