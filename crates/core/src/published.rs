//! The addresses that references say.

use std::sync::Arc;

use oxorb_cdr::ByteOrder;
use oxorb_object::Version;
use oxorb_transport::{Address, Endpoint};

use crate::options::Options;
use crate::protocol::Protocol;
use crate::setup_error::SetupError;
use crate::shared::Shared;
use crate::{Incident, SettingError};

/// One address that goes into references.
#[derive(Debug, Clone)]
pub(crate) struct PublishedAddress {
    pub(crate) protocol: Arc<Protocol>,
    pub(crate) address: Address,
    pub(crate) version: Version,
}

impl PartialEq for PublishedAddress {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.protocol, &other.protocol)
            && (&self.address, self.version) == (&other.address, other.version)
    }
}

impl Options {
    /// Returns the protocol spoken at an endpoint.
    pub(crate) fn protocol_at(&self, endpoint: &Endpoint) -> Result<&Arc<Protocol>, SetupError> {
        let protocols = &self.protocols;
        let protocol = protocols.named(&endpoint.protocol).ok_or_else(|| {
            let known: Vec<_> = protocols.iter().map(|protocol| protocol.name()).collect();
            let known = known.join(", ");
            SetupError::Setting(SettingError {
                setting: format!("-ORBListenEndpoints {endpoint}"),
                problem: format!("this ORB has no such protocol, only {known}"),
            })
        })?;
        let needs = protocol.messaging().map(|messaging| messaging.needs());
        if needs.is_some_and(|needs| needs.same_order) && self.byte_order != ByteOrder::NATIVE {
            return Err(SetupError::Setting(SettingError {
                setting: format!("-ORBListenEndpoints {endpoint}"),
                problem: format!(
                    "{} has no byte-order mark, so this ORB must write in the byte order of its machine, and its option \
                     says otherwise",
                    protocol.name()
                ),
            }));
        }
        Ok(protocol)
    }

    /// Returns whether the system chose no port of an endpoint.
    pub(crate) fn is_fixed(&self, endpoint: &Endpoint) -> bool {
        let protocol = self.protocol_at(endpoint);
        protocol.is_ok_and(|protocol| protocol.transport().is_fixed(endpoint))
    }

    /// Returns the endpoints of the configuration or, without any, that of the first protocol.
    pub(crate) fn endpoints(&self) -> Result<Vec<Endpoint>, SetupError> {
        self.check_protocols()?;
        if !self.listen.is_empty() {
            return Ok(self.listen.clone());
        }
        match self.protocols.default_endpoints(&self.preferred) {
            Ok(endpoints) => Ok(endpoints),
            Err(error) => Err(SetupError::Setting(SettingError {
                setting: "-ORBListenEndpoints".to_owned(),
                problem: format!("is needed: {error}"),
            })),
        }
    }
}

impl Shared {
    /// Returns where clients reach an endpoint that is open.
    pub(crate) fn addresses_of(
        &self,
        endpoint: &Endpoint,
    ) -> Result<Vec<PublishedAddress>, SetupError> {
        let version = endpoint
            .version
            .map_or(Version::V1_2, |(major, minor)| Version { major, minor })
            .min(self.options.max_giop);
        let protocol = self.options.protocol_at(endpoint)?;
        let transport = protocol.transport();
        let published = transport
            .published(endpoint, &self.options.publish)
            .map_err(SetupError::Interfaces)?;
        if transport.falls_short(endpoint, &published) {
            self.note(Incident::OnlyLoopback, || endpoint.to_string(), String::new);
        }
        Ok(published
            .into_iter()
            .map(|address| PublishedAddress {
                protocol: Arc::clone(protocol),
                address,
                version,
            })
            .collect())
    }
}
