//! Bearer tokens of HTTP, for clients and gateways.

use std::path::Path;

use crate::input;
use oxorb_terminal::output::{Failed, because};

/// Minimum number of characters of a token, to prevent guessing.
const SHORTEST: usize = 16;

/// Token of a client.
pub(crate) struct Token {
    pub(crate) secret: String,
    /// Name of the client, for the log.
    pub(crate) name: Option<String>,
}

/// Reads a file with a token on each line, and an optional name after it.
///
/// # Errors
/// Other users can read or change the file; a token is not [valid](check); there is none.
pub(crate) fn read(path: &Path) -> Result<Vec<Token>, Failed> {
    let shown = path.display();
    let file = input::private(path, "the tokens").map_err(because)?;
    let text = input::text_of(file, "a list of tokens");
    let text = text.map_err(|error| because(format!("{shown}: {error}")))?;
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
        check(secret).map_err(|why| because(format!("{shown}:{line}: {why}")))?;
        tokens.push(Token { secret: secret.to_owned(), name });
    }
    match tokens.is_empty() {
        true => Err(because(format!("{shown}: there is no token"))),
        false => Ok(tokens),
    }
}

/// Checks that a token is long enough, and can be sent in a header.
///
/// # Errors
/// Sentence about the mistake.
pub(crate) fn check(secret: &str) -> Result<(), String> {
    if secret.len() < SHORTEST {
        return Err(format!("a token must have at least {SHORTEST} characters"));
    }
    match secret.bytes().all(|octet| octet.is_ascii_graphic()) {
        true => Ok(()),
        false => Err("a token must consist of printable ASCII characters".to_owned()),
    }
}
