//! Every textual form of a reference.

use crate::prelude::*;
use core::fmt;

use oxorb_cdr::Printable;

use crate::{
    CompletionStatus, Corbaloc, Corbaname, Ior, IorError, SystemException, corbaloc, minor,
};

/// A reference as text, taken apart but not resolved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Url {
    /// `IOR:...`
    Ior(Ior),
    /// `corbaloc:...`
    Corbaloc(Corbaloc),
    /// `corbaname:...`
    Corbaname(Corbaname),
    /// `file:...`: the path, decoded, of a file that holds a reference in any of these forms.
    File(String),
}

/// Takes a textual reference apart. Does not look at files or names.
///
/// Schemes are compared without case; white space around the text is ignored. A `file:` URL names a file of this host,
/// which `//` and `//localhost` stand for. `%HH` in it is an octet, if all its `%` are followed by two hexadecimal
/// digits and the path is UTF-8 then; else the path is taken as it is.
///
/// ```
/// use oxorb_object::{Url, parse_reference};
/// assert!(matches!(parse_reference("corbaloc::host/key"), Ok(Url::Corbaloc(_))));
/// assert_eq!(parse_reference("file:///tmp/server.ior"), Ok(Url::File("/tmp/server.ior".into())));
/// assert!(parse_reference("http://example.org").unwrap_err().to_string().contains("corbaloc:"));
/// ```
///
/// # Errors
/// [`ReferenceError`] says what is wrong with which part.
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

/// Why text is no reference.
#[derive(Clone, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text starts with no known scheme.
    Scheme {
        /// The start of the text.
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
    /// Returns the exception that `string_to_object` raises for the mistake.
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
                "\"{}\" is no object reference; references start with IOR:, corbaloc:, corbaname: or file:",
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
    // A path that is no URL's may have a `%` of its own.
    let octets = corbaloc::unescape_key(path);
    let decoded = octets.and_then(|octets| String::from_utf8(octets).ok());
    Ok(Url::File(decoded.unwrap_or_else(|| path.into())))
}

/// Enough of a text to recognise it in a message.
fn shortened(text: &str) -> String {
    const ENOUGH: usize = 40;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
