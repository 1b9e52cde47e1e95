//! Test certificates, from a certificate authority that no one else trusts.

use std::fs;
use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DnType,
    IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};

/// Certificate authority, and a directory with its certificates, removed on drop.
pub struct Authority {
    /// Directory of the certificates.
    pub folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority of this name.
    ///
    /// # Panics
    /// If the directory cannot be written.
    pub fn new(name: &str) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = format!("oxorb-tls-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.join("ca.pem"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    /// Returns the file with the authority's own certificate.
    pub fn roots(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// Signs a certificate for `CN=name,O=Bank` and hosts, and returns the file with it and its key.
    ///
    /// # Panics
    /// If a host is invalid, or the file cannot be written.
    pub fn sign(&self, name: &str, hosts: &[&str]) -> PathBuf {
        self.sign_with(name, hosts, |_| {})
    }

    /// Signs a certificate as [`sign`](Self::sign) does, with other parameters.
    ///
    /// # Panics
    /// If a host is invalid, or the file cannot be written.
    pub fn sign_with(
        &self,
        name: &str,
        hosts: &[&str],
        fill: impl FnOnce(&mut CertificateParams),
    ) -> PathBuf {
        let hosts: Vec<_> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Bank");
        params.distinguished_name.push(DnType::CommonName, name);
        params.serial_number = Some(SerialNumber::from(number(name)));
        fill(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let path = self.folder.join(format!("{name}.pem"));
        fs::write(&path, certificate.pem() + &key.serialize_pem()).unwrap();
        path
    }

    /// Writes a list of revoked certificates, by the names under which they were signed, and returns its file.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn revoke(&self, names: &[&str]) -> PathBuf {
        let revoked = names.iter().map(|name| RevokedCertParams {
            serial_number: SerialNumber::from(number(name)),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2124, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.folder.join("revoked.pem");
        fs::write(&path, params.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        path
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn number(name: &str) -> u64 {
    name.bytes().fold(7, |all, octet| all * 131 % 1_000_000_007 + u64::from(octet))
}
