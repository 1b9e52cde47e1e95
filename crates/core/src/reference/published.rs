//! Addresses that references publish.

use std::sync::Arc;

use oxorb_cdr::ByteOrder;
use oxorb_object::Version;
use oxorb_transport::{Address, Endpoint, Publish, Security, SecurityError};

use crate::error::SetupError;
use crate::options::Options;
use crate::protocol::ProtocolStack;
use crate::shared::Shared;
use crate::{Incident, SettingError};

/// Address published in references.
#[derive(Debug, Clone)]
pub(crate) struct PublishedAddress {
    pub(crate) protocol: Arc<ProtocolStack>,
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
    pub(crate) fn protocol_at(
        &self,
        endpoint: &Endpoint,
    ) -> Result<&Arc<ProtocolStack>, SetupError> {
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
                    "{} has no byte-order mark, so this ORB must write in the byte order of its machine, but its \
                     option selects the other one",
                    protocol.name()
                ),
            }));
        }
        Ok(protocol)
    }

    /// Reports whether the port or path of an endpoint is configured, and not chosen by the system.
    pub(crate) fn is_fixed(&self, endpoint: &Endpoint) -> bool {
        let protocol = self.protocol_at(endpoint);
        protocol.is_ok_and(|protocol| protocol.transport().is_fixed(endpoint))
    }

    /// Returns the configured endpoints or, without any, the default endpoints.
    pub(crate) fn endpoints(&self) -> Result<Vec<Endpoint>, SetupError> {
        self.check_protocols()?;
        if !self.listen.is_empty() {
            self.check_secure(&self.listen)?;
            return Ok(self.listen.clone());
        }
        let secure: Vec<String>;
        let preferred = match self.secure_only {
            false => &self.preferred,
            true => {
                let all = self.protocols.iter();
                let all = all.filter(|protocol| protocol.transport().is_secure());
                secure = all.map(|protocol| protocol.name().to_owned()).collect();
                &secure
            }
        };
        match self.protocols.default_endpoints(preferred) {
            Ok(endpoints) => Ok(endpoints),
            Err(error) => Err(SetupError::Setting(SettingError {
                setting: "-ORBListenEndpoints".to_owned(),
                problem: format!("is needed: {error}"),
            })),
        }
    }
}

impl Options {
    /// Checks that each endpoint's protocol is secure, if the ORB is restricted to secure protocols.
    fn check_secure(&self, endpoints: &[Endpoint]) -> Result<(), SetupError> {
        for endpoint in endpoints {
            if self.secure_only && !self.protocol_at(endpoint)?.transport().is_secure() {
                return Err(SetupError::Setting(SettingError {
                    setting: format!("-ORBListenEndpoints {endpoint}"),
                    problem: "-ORBSecureOnly yes permits only protocols that protect their messages, such as iiops".to_owned(),
                }));
            }
        }
        Ok(())
    }

    /// Passes certificates, keys, trust settings and multicast settings to the transports.
    pub fn prepare_security(&self) -> Result<(), SettingError> {
        let mut secure = self.protocols.iter().map(|it| it.transport().is_secure());
        let wanted = self.secure_only || self.has_security();
        if wanted && !secure.any(|is| is) {
            return Err(SettingError {
                setting: "-ORBTls.. or -ORBSecureOnly".to_owned(),
                problem: "this ORB has no protocol that protects its messages: build it with the feature tls of the \
                          crate oxorb"
                    .to_owned(),
            });
        }
        for protocol in self.protocols.iter() {
            let prepared = protocol.transport().prepare_multicast(&self.multicast);
            prepared
                .map_err(|problem| SettingError { setting: "-ORBMulticast".to_owned(), problem })?;
        }
        let mut protocols = self.protocols.iter();
        let prepared = protocols.try_for_each(|it| it.transport().prepare(&self.security));
        prepared.map_err(unusable)
    }

    /// Reports whether a setting names certificates, keys or trusted roots.
    pub fn has_security(&self) -> bool {
        self.security != Security::default()
    }

    /// Makes the transports reload the files of certificates and keys.
    pub(crate) fn reload_security(&self) -> Result<(), SettingError> {
        let mut protocols = self.protocols.iter();
        let read = protocols.try_for_each(|it| it.transport().reload());
        read.map_err(unusable)
    }
}

fn unusable(error: SecurityError) -> SettingError {
    SettingError {
        setting: format!("-ORB{} {}", error.setting, error.value),
        problem: error.problem,
    }
}

impl Shared {
    /// Returns the addresses at which clients reach an open endpoint.
    pub(crate) fn addresses_of(
        &self,
        endpoint: &Endpoint,
    ) -> Result<Vec<PublishedAddress>, SetupError> {
        self.addresses_by(endpoint, &self.options.publish)
    }

    /// Returns the addresses at which clients reach an open endpoint, published by `rules`.
    pub(crate) fn addresses_by(
        &self,
        endpoint: &Endpoint,
        rules: &[Publish],
    ) -> Result<Vec<PublishedAddress>, SetupError> {
        let version = endpoint
            .version
            .map_or(Version::V1_2, |(major, minor)| Version { major, minor })
            .min(self.options.max_giop);
        let protocol = self.options.protocol_at(endpoint)?;
        let transport = protocol.transport();
        let published = transport.published(endpoint, rules).map_err(SetupError::Interfaces)?;
        if transport.falls_short(endpoint, &published) {
            self.note(Incident::OnlyLoopback, || endpoint.to_string(), String::new);
        }
        Ok(published
            .into_iter()
            .map(|address| PublishedAddress { protocol: Arc::clone(protocol), address, version })
            .collect())
    }
}
