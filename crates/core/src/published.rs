//! The addresses that references say.

use oxorb_object::Version;
use oxorb_transport::Endpoint;

use crate::{Incident, Orb, SetupError};

/// One address that goes into references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) version: Version,
}

impl Address {
    pub(crate) fn parts(&self) -> (&str, u16, Version) {
        (&self.host, self.port, self.version)
    }
}

impl Orb {
    /// Where clients reach an endpoint that is open.
    pub(crate) fn addresses_of(&self, endpoint: &Endpoint) -> Result<Vec<Address>, SetupError> {
        let version = endpoint
            .version
            .map_or(Version::V1_2, |(major, minor)| Version { major, minor })
            .min(self.options().max_giop);
        let published = oxorb_transport::published(endpoint, &self.options().publish)
            .map_err(SetupError::Interfaces)?;
        let local = |(host, _): &(String, u16)| {
            host.parse()
                .is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        };
        if endpoint.is_wildcard() && published.iter().all(local) {
            self.note(Incident::OnlyLoopback, || endpoint.to_string(), String::new);
        }
        Ok(published
            .into_iter()
            .map(|(host, port)| Address {
                host,
                port,
                version,
            })
            .collect())
    }
}
