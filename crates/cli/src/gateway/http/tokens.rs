//! Bearer tokens of clients.

use std::hint::black_box;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::problem::Problem;
use crate::input;
use oxorb_terminal::output::{Failed, because};

/// Minimum number of characters of a token, so that nobody guesses it.
const SHORTEST: usize = 16;

/// Tokens that admit clients.
pub(super) struct Tokens(Vec<Token>);

struct Token {
    secret: Vec<u8>,
    /// Name of the client, for the log.
    name: Option<String>,
}

impl Tokens {
    /// Reads a file with a token on each line, and an optional name after it.
    ///
    /// # Errors
    /// Other users can read or change the file; a token is too short; there is none.
    pub(super) fn read(path: &Path) -> Result<Tokens, Failed> {
        private(path, "the tokens")?;
        let text = input::file(path, "a list of tokens").map_err(because)?;
        let at = |line: usize, what: &str| because(format!("{}:{line}: {what}", path.display()));
        let mut tokens = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let (secret, name) = match text.split_once(char::is_whitespace) {
                Some((secret, name)) => (secret, Some(name.trim().to_owned())),
                None => (text, None),
            };
            if secret.len() < SHORTEST {
                return Err(at(line, &format!("a token has at least {SHORTEST} characters")));
            }
            if !secret.bytes().all(|octet| octet.is_ascii_graphic()) {
                return Err(at(line, "a token consists of printable ASCII characters"));
            }
            tokens.push(Token { secret: secret.into(), name });
        }
        match tokens.is_empty() {
            true => Err(because(format!("{}: there is no token", path.display()))),
            false => Ok(Tokens(tokens)),
        }
    }

    /// Returns the name of the client whose token a request carries.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<Option<&str>, Problem> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else {
            return Err(Problem::unauthorized("Bearer", "this gateway requires a bearer token"));
        };
        let secret = match value.as_bytes().split_at_checked(SCHEME.len()) {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case(SCHEME) => secret.trim_ascii(),
            _ => &[],
        };
        // Compare with every token, so that the time does not depend on which one matches.
        let mut admitted = None;
        for token in &self.0 {
            if is_same(&token.secret, secret) {
                admitted = Some(token);
            }
        }
        match admitted {
            Some(token) => Ok(token.name.as_deref()),
            None => Err(Problem::unauthorized(
                "Bearer error=\"invalid_token\"",
                "the token is not known to this gateway",
            )),
        }
    }
}

/// Beginning of the header, in lower case.
const SCHEME: &[u8] = b"bearer ";

/// Compares secrets in a time that depends on the length of `given` only.
fn is_same(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != given.len());
    for (at, octet) in given.iter().enumerate() {
        let expected = secret.get(at % secret.len().max(1)).copied().unwrap_or_default();
        difference = black_box(difference | (octet ^ expected));
    }
    black_box(difference) == 0
}

/// Refuses a file that users other than its owner can read or change, and one of another user.
pub(super) fn private(path: &Path, what: &str) -> Result<(), Failed> {
    let at = |what: &dyn std::fmt::Display| because(format!("{}: {what}", path.display()));
    let file = path.metadata().map_err(|error| at(&error))?;
    if file.permissions().mode() & 0o077 != 0 {
        return Err(at(&format_args!("other users can read or change {what}: chmod 600")));
    }
    let own = oxorb_sys::unix::own_credentials().uid;
    match file.uid() == own || file.uid() == 0 {
        true => Ok(()),
        false => Err(at(&format_args!("{what} belong to user {}", file.uid()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    const ADA: &str = "0123456789abcdef";

    fn admitted<'t>(tokens: &'t Tokens, header: &'static str) -> Option<Option<&'t str>> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
        tokens.admit(&headers).ok()
    }

    #[test]
    fn only_a_whole_token_admits() {
        let named = Token { secret: ADA.into(), name: Some("ada".to_owned()) };
        let tokens = Tokens(vec![named, Token { secret: "fedcba9876543210".into(), name: None }]);
        assert_eq!(admitted(&tokens, "Bearer 0123456789abcdef"), Some(Some("ada")));
        assert_eq!(admitted(&tokens, "bearer  fedcba9876543210 "), Some(None));
        for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "Basic x"] {
            assert_eq!(admitted(&tokens, wrong), None, "{wrong}");
        }
        assert!(tokens.admit(&HeaderMap::new()).is_err());
        assert!(!is_same(ADA.as_bytes(), ADA.repeat(2).as_bytes()));
    }
}
