//! Names of a certificate's holder (RFC 5280). Read only after its signature was verified, but
//! treated as hostile nevertheless.

use std::fmt::Write as _;
use std::net::IpAddr;

use oxorb_transport::{Subject, SubjectName};

/// Largest size of a distinguished name in text, in octets; longer ones are truncated.
const MAX_NAME: usize = 1024;
/// Maximum number of names taken from a certificate.
const MAX_NAMES: usize = 64;
/// Largest size of one name in octets; longer ones are skipped.
const MAX_ONE: usize = 256;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
const OCTET_STRING: u8 = 0x04;
const BOOLEAN: u8 = 0x01;

/// Parses the subject and names of a certificate in DER; returns `None` for an invalid one. The
/// cost is linear in its size.
pub fn subject_of(der: &[u8], address: Option<IpAddr>) -> Option<Subject> {
    let mut rest = der;
    let mut certificate = expect(&mut rest, SEQUENCE)?;
    let mut body = expect(&mut certificate, SEQUENCE)?;
    // Skip the version, which old certificates omit.
    if body.first() == Some(&0xa0) {
        value(&mut body)?;
    }
    // Skip the serial number, the algorithm, the issuer and the validity.
    for _ in 0..4 {
        value(&mut body)?;
    }
    let subject = expect(&mut body, SEQUENCE)?;
    // Skip the public key.
    value(&mut body)?;
    let mut names = Vec::new();
    let name = distinguished(subject, &mut names)?;
    while let Some((tag, inner)) = value(&mut body) {
        if tag == 0xa3 {
            alternatives(inner, &mut names);
        }
    }
    Some(Subject { name: name.into(), names: names.into(), address })
}

/// Formats a name as in RFC 4514, the last part first, and adds its common names to `names`.
fn distinguished(name: &[u8], names: &mut Vec<SubjectName>) -> Option<String> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let mut set = expect(&mut rest, SET)?;
        let mut part = String::new();
        while !set.is_empty() {
            let mut pair = expect(&mut set, SEQUENCE)?;
            let kind = expect(&mut pair, OBJECT_ID)?;
            let (tag, octets) = value(&mut pair)?;
            let text = text(tag, octets);
            if !part.is_empty() {
                part.push('+');
            }
            match short(kind) {
                Some(short) => part.push_str(short),
                None => dotted(kind, &mut part),
            }
            part.push('=');
            escape(&text, &mut part);
            if kind == COMMON_NAME {
                add(text, SubjectName::Common, names);
            }
        }
        parts.push(part);
    }
    parts.reverse();
    let mut joined = parts.join(",");
    if joined.len() > MAX_NAME {
        let end = (0..=MAX_NAME).rev().find(|at| joined.is_char_boundary(*at));
        joined.truncate(end.unwrap_or(0));
        joined.push_str("...");
    }
    Some(joined)
}

fn alternatives(extensions: &[u8], names: &mut Vec<SubjectName>) -> Option<()> {
    let mut outer = extensions;
    let mut all = expect(&mut outer, SEQUENCE)?;
    while !all.is_empty() {
        let mut one = expect(&mut all, SEQUENCE)?;
        if expect(&mut one, OBJECT_ID)? != ALTERNATIVE_NAMES {
            continue;
        }
        let (mut tag, mut octets) = value(&mut one)?;
        if tag == BOOLEAN {
            (tag, octets) = value(&mut one)?;
        }
        if tag != OCTET_STRING {
            return None;
        }
        let mut list = expect(&mut octets, SEQUENCE)?;
        while !list.is_empty() {
            let (tag, octets) = value(&mut list)?;
            match tag {
                0x81 => add(text(22, octets), SubjectName::Mail, names),
                0x82 => add(text(22, octets), SubjectName::Host, names),
                0x86 => add(text(22, octets), SubjectName::Uri, names),
                0x87 => {
                    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
                    let v6 = <[u8; 16]>::try_from(octets).map(IpAddr::from);
                    if let Ok(address) = v4.or(v6) {
                        push(SubjectName::Address(address), names);
                    }
                }
                _ => {}
            }
        }
    }
    Some(())
}

fn add(name: String, kind: fn(String) -> SubjectName, names: &mut Vec<SubjectName>) {
    if !name.is_empty() && name.len() <= MAX_ONE {
        push(kind(name), names);
    }
}

fn push(name: SubjectName, names: &mut Vec<SubjectName>) {
    if names.len() < MAX_NAMES && !names.contains(&name) {
        names.push(name);
    }
}

/// Parses the tag and value of the next element.
fn value<'d>(rest: &mut &'d [u8]) -> Option<(u8, &'d [u8])> {
    let (&[tag, length], mut behind) = rest.split_first_chunk::<2>()?;
    // The low bits mark a tag of several octets, which certificates do not have.
    if tag & 0x1f == 0x1f {
        return None;
    }
    let length = match length {
        short @ 0..=0x7f => usize::from(short),
        long @ (0x81..=0x84) => {
            let count = usize::from(long & 0x7f);
            let (octets, further) = behind.split_at_checked(count)?;
            behind = further;
            octets.iter().fold(0, |all, octet| all << 8 | usize::from(*octet))
        }
        _ => return None,
    };
    let (octets, further) = behind.split_at_checked(length)?;
    *rest = further;
    Some((tag, octets))
}

fn expect<'d>(rest: &mut &'d [u8], wanted: u8) -> Option<&'d [u8]> {
    let (tag, octets) = value(rest)?;
    (tag == wanted).then_some(octets)
}

fn text(tag: u8, octets: &[u8]) -> String {
    match tag {
        // This is the tag of a BMPString, which contains UTF-16.
        30 => {
            let units = octets.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect()
        }
        // This is the tag of a T61String, which is usually interpreted as Latin-1.
        20 => octets.iter().map(|octet| char::from(*octet)).collect(),
        _ => String::from_utf8_lossy(octets).into_owned(),
    }
}

fn escape(text: &str, to: &mut String) {
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=' => to.extend(['\\', c]),
            '#' | ' ' if at == 0 => to.extend(['\\', c]),
            ' ' if at == last => to.extend(['\\', c]),
            c if c.is_control() => {
                let mut utf8 = [0; 4];
                for octet in c.encode_utf8(&mut utf8).bytes() {
                    let _ = write!(to, "\\{octet:02x}");
                }
            }
            c => to.push(c),
        }
    }
}

fn short(kind: &[u8]) -> Option<&'static str> {
    Some(match kind {
        COMMON_NAME => "CN",
        [0x55, 0x04, 0x05] => "serialNumber",
        [0x55, 0x04, 0x06] => "C",
        [0x55, 0x04, 0x07] => "L",
        [0x55, 0x04, 0x08] => "ST",
        [0x55, 0x04, 0x09] => "STREET",
        [0x55, 0x04, 0x0a] => "O",
        [0x55, 0x04, 0x0b] => "OU",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x01] => "UID",
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 0x01, 0x19] => "DC",
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x01] => "emailAddress",
        _ => return None,
    })
}

fn dotted(kind: &[u8], to: &mut String) {
    let mut number: u64 = 0;
    for (at, octet) in kind.iter().enumerate() {
        number = number << 7 | u64::from(octet & 0x7f);
        if octet & 0x80 != 0 {
            continue;
        }
        let _ = match at {
            0 => write!(to, "{}.{}", number / 40, number % 40),
            _ => write!(to, ".{number}"),
        };
        number = 0;
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn certificate(fill: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        fill(&mut params);
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_subject_is_read_as_rfc_4514_writes_it() {
        let der = certificate(|params| {
            let name = &mut params.distinguished_name;
            name.push(DnType::CountryName, "DE");
            name.push(DnType::OrganizationName, "Bank, Inc.");
            name.push(DnType::CommonName, "alice ");
            params.subject_alt_names = vec![
                SanType::DnsName("bank.example".try_into().unwrap()),
                SanType::URI("spiffe://bank/alice".try_into().unwrap()),
                SanType::IpAddress("10.1.2.3".parse().unwrap()),
            ];
        });
        let subject = subject_of(&der, None).unwrap();
        assert_eq!(&*subject.name, r"CN=alice\ ,O=Bank\, Inc.,C=DE");
        let names: Vec<_> = subject.names.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["alice ", "bank.example", "spiffe://bank/alice", "10.1.2.3"]);
        assert!(subject.is_called("*.example") && subject.is_called("spiffe://bank/alice"));
    }

    #[test]
    fn a_common_name_is_not_the_distinguished_name_of_another() {
        let of = |organization: &str, common: &str| {
            let der = certificate(|params| {
                let name = &mut params.distinguished_name;
                name.push(DnType::OrganizationName, organization);
                name.push(DnType::CommonName, common);
            });
            subject_of(&der, None).unwrap()
        };
        assert!(of("Bank", "alice").is_called("CN=alice,O=Bank"));
        let eve = of("Evil", "CN=alice,O=Bank");
        assert!(!eve.is_called("CN=alice,O=Bank") && !eve.is_called("*,O=Bank"), "{eve}");
    }

    #[test]
    fn a_certificate_without_a_name_has_none() {
        let subject = subject_of(&certificate(|_| {}), None).unwrap();
        assert_eq!((&*subject.name, subject.names.len()), ("", 0));
        assert_eq!(subject.to_string(), "a certificate without a name");
    }

    #[test]
    fn cut_and_changed_certificates_do_no_harm() {
        let der = certificate(|params| {
            params.distinguished_name.push(DnType::CommonName, "x\u{1}y");
        });
        assert_eq!(&*subject_of(&der, None).unwrap().name, r"CN=x\01y");
        for end in 0..der.len() {
            assert!(subject_of(&der[..end], None).is_none());
        }
        let mut changed = der.clone();
        for at in 0..der.len() {
            for change in [0x01, 0x80, 0xff] {
                changed[at] ^= change;
                let _ = subject_of(&changed, None);
                changed[at] ^= change;
            }
        }
    }
}
