//! Bearer tokens of clients.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use oxorb_sys::sync::Mutex;

use super::problem::Problem;
use crate::token::{self, Token};
use oxorb_terminal::output::Failed;

/// Tokens that admit clients.
pub(super) struct Tokens {
    path: PathBuf,
    known: Mutex<Arc<Vec<Token>>>,
}

impl Tokens {
    /// Reads a file with a token on each line, and an optional name after it.
    ///
    /// # Errors
    /// Other users can read or change the file; a token is too short; there is none.
    pub(super) fn read(path: &Path) -> Result<Tokens, Failed> {
        Ok(Tokens::new(path, token::read(path)?))
    }

    fn new(path: &Path, known: Vec<Token>) -> Tokens {
        Tokens { path: path.to_owned(), known: Mutex::new(Arc::new(known)) }
    }

    /// Reads the file again. If that fails, the known tokens stay in use.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub(super) fn reload(&self) -> Result<(), Failed> {
        let known = Arc::new(token::read(&self.path)?);
        *self.known.lock() = known;
        Ok(())
    }

    /// Returns the name of the client whose token a request carries; empty for a token without a name.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<String, Problem> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else {
            return Err(Problem::unauthorized("Bearer", "this gateway requires a bearer token"));
        };
        let secret = match value.as_bytes().split_at_checked(SCHEME.len()) {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case(SCHEME) => secret.trim_ascii(),
            _ => &[],
        };
        let known = Arc::clone(&self.known.lock());
        // A long text would take time with each token.
        let longest = known.iter().map(|token| token.secret.len()).max().unwrap_or_default();
        let secret = if secret.len() <= longest { secret } else { &[] };
        // Compare with every token, so that the time does not depend on which one matches.
        let mut admitted = None;
        for token in known.iter() {
            if is_same(token.secret.as_bytes(), secret) {
                admitted = Some(token);
            }
        }
        match admitted {
            Some(token) => Ok(token.name.clone().unwrap_or_default()),
            None => Err(Problem::unauthorized(
                "Bearer error=\"invalid_token\"",
                "the token is unknown to this gateway",
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

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    const ADA: &str = "0123456789abcdef";

    fn admitted(tokens: &Tokens, header: &'static str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static(header));
        tokens.admit(&headers).ok()
    }

    #[test]
    fn only_a_whole_token_admits() {
        let named = Token { secret: ADA.into(), name: Some("ada".to_owned()) };
        let unnamed = Token { secret: "fedcba9876543210".into(), name: None };
        let tokens = Tokens::new(Path::new("tokens.txt"), vec![named, unnamed]);
        let ada = Some("ada".to_owned());
        assert_eq!(admitted(&tokens, "Bearer 0123456789abcdef"), ada);
        assert_eq!(admitted(&tokens, "bearer  fedcba9876543210 "), Some(String::new()));
        for wrong in ["Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Bearer ", "Basic x"] {
            assert_eq!(admitted(&tokens, wrong), None, "{wrong}");
        }
        assert!(tokens.admit(&HeaderMap::new()).is_err());
        assert!(!is_same(ADA.as_bytes(), ADA.repeat(2).as_bytes()));
    }
}
