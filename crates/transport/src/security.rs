//! Settings of certificates and keys.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Certificates, keys and trust settings of transports that protect their octets.
///
/// Holds names of files, never their contents. PEM is the only format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    /// File with this side's certificate, and the intermediate certificates up to its root.
    pub certificate: Option<PathBuf>,
    /// File with the private key of the certificate; `None`: in the file of the certificate.
    pub key: Option<PathBuf>,
    /// File with the trusted root certificates.
    pub roots: Option<PathBuf>,
    /// File with lists of revoked certificates (CRL).
    pub revoked: Option<PathBuf>,
    /// SHA-256 of public keys (SubjectPublicKeyInfo): a server must have one of these. Empty: any
    /// key certified by the roots.
    pub pins: Vec<[u8; 32]>,
    /// Whether servers request certificates of clients.
    pub clients: ClientCertificates,
    /// Required name in a server's certificate.
    pub server_name: ServerName,
    /// Whether TLS 1.2 is used with peers that support nothing newer.
    pub old: bool,
    /// Longest time of a handshake.
    pub handshake_time: Duration,
    /// Maximum number of concurrent handshakes at one endpoint.
    pub handshakes: usize,
}

impl Default for Security {
    fn default() -> Self {
        Self {
            certificate: None,
            key: None,
            roots: None,
            revoked: None,
            pins: Vec::new(),
            clients: ClientCertificates::default(),
            server_name: ServerName::default(),
            old: false,
            handshake_time: Duration::from_secs(5),
            handshakes: 256,
        }
    }
}

/// Policy of a server for certificates of its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Verifies a certificate if the client presents one, and serves clients without one, too.
    /// Without roots to verify by, none is requested.
    #[default]
    Asked,
    /// Refuses clients without a certificate signed by the roots.
    Required,
    /// Requests no certificates.
    Ignored,
}

/// Required name in the certificate of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerName {
    /// Host in the reference or URL, name or address.
    #[default]
    Host,
    /// Given name, whatever the host.
    Fixed(String),
    /// Any name: every holder of a certificate signed by the roots is accepted as the server.
    Any,
}

impl FromStr for ClientCertificates {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "asked" => Self::Asked,
            "required" => Self::Required,
            "ignored" => Self::Ignored,
            _ => return Err("expected asked, required or ignored"),
        })
    }
}

impl FromStr for ServerName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once(':') {
            None if text == "host" => Self::Host,
            None if text == "any" => Self::Any,
            Some(("name", name)) if !name.is_empty() => Self::Fixed(name.to_owned()),
            _ => return Err("expected host, any or name:NAME"),
        })
    }
}

/// Parses a pin: 64 hexadecimal digits, or `sha256/` and base 64 as in HTTP and curl.
///
/// # Errors
/// Sentence about the expected form.
pub(crate) fn pin(text: &str) -> Result<[u8; 32], &'static str> {
    const EXPECTED: &str = "a pin must be the SHA-256 of a public key: 64 hexadecimal digits, or sha256/ and 44 \
                            characters in base 64";
    let octets = match text.strip_prefix("sha256/") {
        Some(base64) => from_base64(base64),
        None => from_hex(text),
    };
    octets.and_then(|octets| octets.try_into().ok()).ok_or(EXPECTED)
}

impl Security {
    /// Parses pins separated by commas, and adds them.
    ///
    /// # Errors
    /// Sentence about the expected form.
    pub fn pin(&mut self, list: &str) -> Result<(), &'static str> {
        for text in list.split(',') {
            self.pins.push(pin(text.trim())?);
        }
        Ok(())
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held, mut octets) = (0_u32, 0, Vec::new());
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    for c in digits.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            octets.push((bits >> held) as u8);
        }
    }
    // In canonical base 64, the unused bits of the last digit are 0. Other notations are refused.
    (bits & ((1 << held) - 1) == 0).then_some(octets)
}

/// Error for an unusable setting of [`Security`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("-ORB{setting} {value}: {problem}")]
pub struct SecurityError {
    /// Name of the setting, as in `-ORBTlsRoots`.
    pub setting: &'static str,
    /// Value of the setting.
    pub value: String,
    /// Fault: a sentence without the full stop.
    pub problem: String,
}

impl fmt::Debug for SecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_in_both_notations() {
        let mut security = Security::default();
        let hex = "00".repeat(31) + "ff";
        let base64 = format!("sha256/{}P8=", "A".repeat(41));
        security.pin(&format!("{hex}, {base64}")).unwrap();
        assert_eq!(security.pins.len(), 2);
        assert_eq!(security.pins[0], security.pins[1]);
        let long = format!("sha256/{}/w==", "A".repeat(41));
        let odd = format!("sha256/{}P9=", "A".repeat(41));
        for wrong in ["", "00", "sha256/", "sha256/A*", &"0g".repeat(32), &long, &odd] {
            assert!(security.pin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_and_clients() {
        assert_eq!("name:bank".parse(), Ok(ServerName::Fixed("bank".to_owned())));
        assert_eq!("any".parse(), Ok(ServerName::Any));
        assert!("name:".parse::<ServerName>().is_err());
        assert!("host:x".parse::<ServerName>().is_err());
        assert_eq!("required".parse(), Ok(ClientCertificates::Required));
        assert!("maybe".parse::<ClientCertificates>().is_err());
    }
}
