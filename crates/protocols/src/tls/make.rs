//! Test certificates: an authority and certificates signed by it.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SerialNumber, date_time_ymd,
};

/// Requested certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedCertificates {
    /// Names and addresses of the server's host.
    pub hosts: Vec<String>,
    /// Names of clients.
    pub clients: Vec<String>,
    /// Validity of all certificates in days, 1 to 3650.
    pub days: u32,
}

/// Generated file.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateFile {
    /// Name of the file.
    pub name: String,
    /// Contents of the file, PEM.
    pub content: String,
    /// Whether the file contains a private key.
    pub secret: bool,
}

/// Formats the file without its key.
impl fmt::Debug for CertificateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateFile({:?}, {} octets)", self.name, self.content.len())
    }
}

/// Generates an authority (`ca.pem`, `ca.key`), and certificates with keys for a server
/// (`server.pem`) and for each client (`NAME.pem`). Keys are ECDSA on P-256, which every peer
/// supports.
///
/// # Errors
/// Sentence about an invalid host, name or number of days.
pub fn make(wanted: &WantedCertificates) -> Result<Vec<CertificateFile>, String> {
    if !(1..=3650).contains(&wanted.days) {
        return Err("the validity of certificates must be from 1 to 3650 days".to_owned());
    }
    if wanted.hosts.is_empty() {
        return Err(
            "a server's certificate needs a host: a name or an address by which clients reach it"
                .to_owned(),
        );
    }
    let is_name = |name: &str| {
        let plain = |c: char| c.is_alphanumeric() || "-_.@".contains(c);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(plain)
    };
    for (at, name) in wanted.clients.iter().enumerate() {
        if !is_name(name) || ["ca", "server"].contains(&name.as_str()) {
            return Err(format!(
                "{name:?} cannot be used, because it is also the name of a file: use only letters, digits and - _ . @, \
                 and neither ca nor server"
            ));
        }
        if wanted.clients[..at].contains(name) {
            return Err(format!("{name} occurs twice"));
        }
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let today = i64::try_from(now.as_secs() / 86_400).unwrap_or(0);
    let dated = |mut params: CertificateParams, name: &str| {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        // Certificates are valid since yesterday, because the clock of a peer may be slow.
        let at = |(year, month, day)| date_time_ymd(year, month, day);
        params.not_before = at(day(today - 1));
        params.not_after = at(day(today + 1 + i64::from(wanted.days)));
        params
    };
    let failed = |error: rcgen::Error| error.to_string();
    let key = || KeyPair::generate().map_err(failed);

    // Peers find the authority of a certificate by its name. Each authority has another name, so that a certificate of
    // another authority is reported as such, and not as one with a wrong signature.
    let authority_key = key()?;
    let mut name = String::from("OxORB test authority ");
    for octet in authority_key.public_key_raw().iter().skip(1).take(4) {
        let _ = write!(name, "{octet:02x}");
    }
    let mut authority = dated(CertificateParams::default(), &name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(authority, authority_key).map_err(failed)?;
    let made = |name: &str, content: String, secret| CertificateFile {
        name: name.to_owned(),
        content,
        secret,
    };
    let mut all = vec![
        made("ca.pem", authority.pem(), false),
        made("ca.key", authority.key().serialize_pem(), true),
    ];
    // All certificates are for both roles: a server is also a client of other services, and a client that is called
    // back is also a server.
    let both = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let mut sign = |file: &str, name: &str, hosts: Vec<String>, number: u64| {
        let hosts = CertificateParams::new(hosts);
        let mut params = dated(hosts.map_err(|error| format!("{name}: {error}"))?, name);
        params.serial_number = Some(SerialNumber::from(number));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = both.clone();
        let key = key()?;
        let signed = params.signed_by(&key, &authority).map_err(failed)?;
        all.push(made(file, signed.pem() + &key.serialize_pem(), true));
        Ok::<(), String>(())
    };
    sign("server.pem", &wanted.hosts[0], wanted.hosts.clone(), 2)?;
    for (name, number) in wanted.clients.iter().zip(3..) {
        sign(&format!("{name}.pem"), name, Vec::new(), number)?;
    }
    Ok(all)
}

/// Returns the date of a day number since 1970.
fn day(number: i64) -> (i32, u8, u8) {
    // Years of this computation begin in March (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let shifted = number + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year as i32, month as u8, day as u8)
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (number, date) in
            [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (19_782, (2024, 2, 29)), (20_454, (2026, 1, 1))]
        {
            assert_eq!(day(number), date);
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let wanted = |host: &str, client: &str, days| WantedCertificates {
            hosts: vec![host.to_owned()],
            clients: vec![client.to_owned()],
            days,
        };
        for (wanted, part) in [
            (wanted("localhost", "alice", 0), "1 to 3650 days"),
            (wanted("localhost", "../alice", 9), "name of a file"),
            (wanted("localhost", "server", 9), "name of a file"),
            (wanted("b\u{fc}cher", "alice", 9), "b\u{fc}cher"),
        ] {
            let error = make(&wanted).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let made = make(&wanted("localhost", "alice", 9)).unwrap();
        let names: Vec<_> = made.iter().map(|made| made.name.as_str()).collect();
        assert_eq!(names, ["ca.pem", "ca.key", "server.pem", "alice.pem"]);
        let authority = |made: &[CertificateFile]| {
            let der = CertificateDer::from_pem_slice(made[0].content.as_bytes()).unwrap();
            let subject = crate::tls::certificate::subject_of(&der, None).unwrap();
            subject.name.to_string()
        };
        let other = make(&wanted("localhost", "alice", 9)).unwrap();
        assert!(authority(&made).starts_with("CN=OxORB test authority "), "{}", authority(&made));
        assert_ne!(authority(&made), authority(&other));
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
