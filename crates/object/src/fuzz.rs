//! Entry points of the fuzz targets for references: no input may cause a panic or a hang.

use crate::prelude::*;
use core::str;

use crate::{Ior, Url, describe, parse_reference};

/// Parses `data` as a stringified reference if it is text, and as octets of a reference; explains
/// it; writes it again.
pub fn ior(data: &[u8]) {
    let mut text = String::from("IOR:");
    crate::hex::push(&mut text, data);
    for text in [str::from_utf8(data).unwrap_or_default(), &text] {
        if let Ok(ior) = text.parse::<Ior>() {
            let reference = describe::reference(&ior);
            assert_eq!(reference.profiles.len(), ior.profiles.len());
            assert_eq!(ior.to_string().parse().as_ref(), Ok(&ior), "a reference survives as text");
        }
    }
}

/// Parses `data` as a URL; a valid one can be written and parsed again.
pub fn corbaloc(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match parse_reference(text) {
        Ok(Url::Corbaloc(url)) => {
            assert_eq!(url.to_string().parse().as_ref(), Ok(&url));
            if let Some(ior) = url.to_ior() {
                assert!(!ior.is_nil());
                assert_eq!(crate::Corbaloc::from_ior(&ior).map(|url| url.key), Some(url.key));
            }
        }
        Ok(Url::Corbaname(url)) => assert_eq!(url.to_string().parse().as_ref(), Ok(&url)),
        Ok(_) => {}
        Err(error) => {
            assert!(!error.to_string().is_empty());
            error.to_exception();
        }
    }
}
