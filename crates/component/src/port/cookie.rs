//! Cookies, which identify connections.

use oxorb_cdr::{Value, ValueLink};
use oxorb_object::{CompletionStatus, SystemException, minor};

use crate::Cookie;

/// Value of a cookie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token([u8; 16]);

impl Token {
    /// Returns a token that no client can guess.
    pub(crate) fn draw() -> Result<Token, SystemException> {
        let failed = |_| {
            let minor = minor::no_resources::RANDOM;
            SystemException::no_resources(minor, CompletionStatus::No)
        };
        oxorb_sys::random::octets().map(Token).map_err(failed)
    }

    /// Returns the token in a client's cookie; `None` for null, and for cookies that no port has issued.
    pub(crate) fn of(cookie: &ValueLink<Cookie>) -> Option<Token> {
        let octets = &cookie.get()?.cookie_value;
        <[u8; 16]>::try_from(&**octets).ok().map(Token)
    }

    /// Returns the cookie for a client.
    pub(crate) fn cookie(self) -> ValueLink<Cookie> {
        let cookie_value = self.0.to_vec();
        Value::new(Cookie { cookie_value }).into()
    }
}
