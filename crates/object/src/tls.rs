//! TLS in references: TAG_SSL_SEC_TRANS (SSLIOP), and the mechanisms of CSIv2.

use crate::prelude::*;
use oxorb_cdr::{self as cdr, Decoder, Dialect, Encoder};

use crate::components::{self, tag};
use crate::ior::text;
use crate::{IiopEndpoint, Malformed, TaggedComponent};

/// Association options (CORBA 3.4 part 2, 10.9.1), as bits.
pub mod association {
    /// Requests may be sent without protection.
    pub const NO_PROTECTION: u16 = 0x01;
    /// Modification of messages is detected.
    pub const INTEGRITY: u16 = 0x02;
    /// Contents are encrypted.
    pub const CONFIDENTIALITY: u16 = 0x04;
    /// Replay of messages is detected.
    pub const DETECT_REPLAY: u16 = 0x08;
    /// Reordering of messages is detected.
    pub const DETECT_MISORDERING: u16 = 0x10;
    /// The server authenticates itself.
    pub const ESTABLISH_TRUST_IN_TARGET: u16 = 0x20;
    /// The client authenticates itself.
    pub const ESTABLISH_TRUST_IN_CLIENT: u16 = 0x40;
}

/// Maximum number of mechanisms and addresses read from one component, equal to the number of
/// addresses that a call tries.
const MAX: usize = 64;

/// Addresses and options of a server that supports TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsMechanism {
    /// Association options that the server supports.
    pub supports: u16,
    /// Association options that the server requires.
    pub requires: u16,
    /// Addresses of the server.
    pub addresses: Vec<IiopEndpoint>,
}

impl TaggedComponent {
    /// Returns TAG_SSL_SEC_TRANS: the TLS port at the profile's host.
    pub fn ssl_sec_trans(supports: u16, requires: u16, port: u16) -> Self {
        let data = components::encapsulate(|e| ssl(e, supports, requires, port));
        Self { tag: tag::SSL_SEC_TRANS, data }
    }

    /// Returns TAO's TAG_SSL_ENDPOINTS: the TLS ports of the addresses of TAO_TAG_ENDPOINTS after the first.
    pub fn tao_ssl_endpoints(supports: u16, requires: u16, ports: &[u16]) -> Self {
        let data = components::encapsulate(|e| {
            e.ulong(ports.len() as u32);
            for port in ports {
                ssl(e, supports, requires, *port);
            }
        });
        Self { tag: tag::TAO_SSL_ENDPOINTS, data }
    }

    /// Decodes the ports of TAO's TAG_SSL_ENDPOINTS. Allocates the result.
    ///
    /// # Errors
    /// When the octets are malformed.
    pub fn ssl_ports(&self) -> Result<Vec<u16>, Malformed> {
        let mut d = Decoder::encapsulated(&self.data, Dialect::GIOP_1_2)?;
        let count = d.length(None, 6)?;
        let port = |_| -> cdr::Result<_> {
            d.ushort()?;
            d.ushort()?;
            d.ushort()
        };
        Ok((0..count).map(port).collect::<cdr::Result<_>>()?)
    }

    /// Returns TAG_CSI_SEC_MECH_LIST with one mechanism: TLS at these addresses, without user name
    /// and identity assertion.
    pub fn csi_tls(mechanism: &TlsMechanism) -> Self {
        let transport = components::encapsulate(|e| {
            e.ushort(mechanism.supports);
            e.ushort(mechanism.requires);
            e.ulong(mechanism.addresses.len() as u32);
            for at in &mechanism.addresses {
                components::write_text(e, &at.host);
                e.ushort(at.port);
            }
        });
        let data = components::encapsulate(|e| {
            e.boolean(false); // stateful
            e.ulong(1);
            e.ushort(mechanism.requires);
            e.ulong(TLS_SEC_TRANS);
            crate::ior::write_octets(e, &transport);
            // AS_ContextSec, for authentication: no options, no mechanism, and no target name.
            e.ushort(0);
            e.ushort(0);
            e.ulong(0);
            e.ulong(0);
            // SAS_ContextSec, for attributes: no options, privilege authorities, naming mechanisms or identity types.
            e.ushort(0);
            e.ushort(0);
            e.ulong(0);
            e.ulong(0);
            e.ulong(0);
        });
        Self { tag: tag::CSI_SEC_MECH_LIST, data }
    }

    /// Decodes the first mechanism over TLS in TAG_CSI_SEC_MECH_LIST; `None` if there is none.
    /// Allocates the result.
    ///
    /// # Errors
    /// When the octets are malformed.
    pub fn tls_mechanism(&self) -> Result<Option<TlsMechanism>, Malformed> {
        let mut d = Decoder::encapsulated(&self.data, Dialect::GIOP_1_2)?;
        d.boolean()?;
        let count = d.length(None, 32)?;
        for _ in 0..count.min(MAX) {
            let requires = d.ushort()?;
            let transport = d.ulong()?;
            let length = d.length(None, 1)?;
            let octets = d.octets(length)?;
            if transport == TLS_SEC_TRANS {
                let mut d = Decoder::encapsulated(octets, Dialect::GIOP_1_2)?;
                let (supports, own) = (d.ushort()?, d.ushort()?);
                let count = d.length(None, 7)?;
                let one = |_| -> cdr::Result<_> {
                    Ok(IiopEndpoint { host: text(&mut d)?, port: d.ushort()? })
                };
                let addresses = (0..count.min(MAX)).map(one);
                return Ok(Some(TlsMechanism {
                    supports,
                    requires: requires | own,
                    addresses: addresses.collect::<cdr::Result<_>>()?,
                }));
            }
            // Skips AS_ContextSec: options, mechanism and target name.
            d.ushort()?;
            d.ushort()?;
            skip(&mut d)?;
            skip(&mut d)?;
            // Skips SAS_ContextSec: options, privilege authorities, naming mechanisms and identity types.
            d.ushort()?;
            d.ushort()?;
            for _ in 0..d.length(None, 8)? {
                d.ulong()?;
                skip(&mut d)?;
            }
            for _ in 0..d.length(None, 4)? {
                skip(&mut d)?;
            }
            d.ulong()?;
        }
        Ok(None)
    }
}

/// Tag of the transport mechanism within a mechanism.
const TLS_SEC_TRANS: u32 = 36;

fn ssl(e: &mut Encoder<'_>, supports: u16, requires: u16, port: u16) {
    e.ushort(supports);
    e.ushort(requires);
    e.ushort(port);
}

fn skip(d: &mut Decoder<'_>) -> cdr::Result<()> {
    let length = d.length(None, 1)?;
    d.octets(length)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mechanism() -> TlsMechanism {
        let at = |host: &str, port| IiopEndpoint { host: host.to_owned(), port };
        TlsMechanism {
            supports: 0x66,
            requires: 0x06,
            addresses: vec![at("bank.example", 2810), at("::1", 2811)],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let component = TaggedComponent::csi_tls(&mechanism());
        assert_eq!(component.tls_mechanism(), Ok(Some(mechanism())));
        let ports = TaggedComponent::tao_ssl_endpoints(0x66, 6, &[1, 65535]);
        assert_eq!(ports.ssl_ports(), Ok(vec![1, 65535]));
        let one = TaggedComponent::ssl_sec_trans(0x66, 0x06, 2810);
        let read =
            components::DecodedComponent::SslSecTrans { supports: 0x66, requires: 6, port: 2810 };
        assert_eq!(one.decode(), Ok(read));
    }

    #[test]
    fn cut_and_changed_components_are_errors_or_something_else() {
        let component = TaggedComponent::csi_tls(&mechanism());
        for end in 0..component.data.len() {
            let cut = TaggedComponent { tag: component.tag, data: component.data[..end].to_vec() };
            let _ = cut.tls_mechanism();
        }
        let mut changed = component;
        for at in 0..changed.data.len() {
            for change in [0x01, 0x80, 0xff] {
                changed.data[at] ^= change;
                let _ = changed.tls_mechanism();
                changed.data[at] ^= change;
            }
        }
    }

    #[test]
    fn a_mechanism_without_tls_is_passed_over() {
        let mut component = TaggedComponent::csi_tls(&mechanism());
        // Replaces the tag of the transport, TAG_TLS_SEC_TRANS, by TAG_NULL_TAG.
        let at = component.data.windows(4).position(|it| it == [0, 0, 0, 36]).unwrap();
        component.data[at + 3] = 34;
        assert_eq!(component.tls_mechanism(), Ok(None));
    }
}
