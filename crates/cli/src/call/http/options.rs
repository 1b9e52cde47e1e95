//! Options for objects behind an HTTP gateway.

use std::env::{self, VarError};
use std::path::PathBuf;

use crate::token;
use oxorb_terminal::output::{Done, Failed, because};

/// Variable with the token, if no file is named.
const VARIABLE: &str = "OXORB_HTTP_TOKEN";

/// Maximum number of octets of an answer, by default.
const MAX_ANSWER: u32 = 64 << 20;

/// Options for objects behind an HTTP gateway.
#[derive(clap::Args)]
pub(in crate::call) struct HttpArgs {
    /// File with the bearer token for an HTTP gateway; only its owner may read it. Without a file, the variable
    /// OXORB_HTTP_TOKEN of the environment is the token
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Maximum number of octets of the answer of an HTTP gateway. Default: 67108864
    #[arg(long, value_name = "OCTETS")]
    max_answer: Option<u32>,
}

impl HttpArgs {
    /// Checks that no option is given, because the object is not behind an HTTP gateway.
    pub(in crate::call) fn refuse(&self) -> Done {
        let options =
            [(self.token.is_some(), "--token"), (self.max_answer.is_some(), "--max-answer")];
        match options.iter().find(|(is_given, _)| *is_given) {
            Some((_, option)) => Err(because(format!(
                "{option} applies only to objects behind an HTTP gateway, whose addresses begin with http: or https:"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the maximum number of octets of an answer.
    pub(super) fn max_answer(&self) -> usize {
        self.max_answer.unwrap_or(MAX_ANSWER) as usize
    }

    /// Returns the bearer token, if there is one.
    pub(super) fn token(&self) -> Result<Option<String>, Failed> {
        let Some(path) = &self.token else {
            return of_environment();
        };
        let mut tokens = token::read(path)?;
        match tokens.len() {
            1 => Ok(tokens.pop().map(|token| token.secret)),
            _ => {
                let path = path.display();
                Err(because(format!(
                    "{path}: the file contains several tokens, but a client uses one"
                )))
            }
        }
    }
}

fn of_environment() -> Result<Option<String>, Failed> {
    let secret = match env::var(VARIABLE) {
        Ok(secret) => secret,
        Err(VarError::NotPresent) => return Ok(None),
        // The error would show the token.
        Err(VarError::NotUnicode(_)) => return Err(because(format!("{VARIABLE} is not UTF-8"))),
    };
    if secret.is_empty() {
        return Ok(None);
    }
    token::check(&secret).map_err(|why| because(format!("{VARIABLE}: {why}")))?;
    Ok(Some(secret))
}
