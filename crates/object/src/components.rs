//! Tagged components: data in a profile besides the address of the object (CORBA 3.4, 13.6.6).

use crate::prelude::*;
use oxorb_cdr::{self as cdr, ByteOrder, Decoder, Dialect, Encoder};

use crate::{
    CodeSetComponentInfo, IiopEndpoint, Malformed, SocketIdentity, iiop_profile::PUBLISHED,
    ior::PLAUSIBLE_COUNT, ior::text, ior::write_octets,
};

/// Component: a tag and octets, usually an encapsulation. Unknown ones are preserved unchanged.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaggedComponent {
    /// Kind of component; see [`tag`].
    pub tag: u32,
    /// Octets of the component.
    pub data: Vec<u8>,
}

/// Tags of components.
pub mod tag {
    /// ORB that made the reference.
    pub const ORB_TYPE: u32 = 0;
    /// Code sets of the server.
    pub const CODE_SETS: u32 = 1;
    /// Policies of the object.
    pub const POLICIES: u32 = 2;
    /// Alternate TCP address.
    pub const ALTERNATE_IIOP_ADDRESS: u32 = 3;
    /// TLS port and association options.
    pub const SSL_SEC_TRANS: u32 = 20;
    /// Address from which Java classes can be loaded.
    pub const JAVA_CODEBASE: u32 = 25;
    /// CSIv2 security mechanisms.
    pub const CSI_SEC_MECH_LIST: u32 = 33;
    /// Highest RMI custom stream format.
    pub const RMI_CUSTOM_MAX_STREAM_FORMAT: u32 = 38;
    /// Group of a multicast profile.
    pub const GROUP: u32 = 39;
    /// TAO: TLS ports of the addresses of TAO_TAG_ENDPOINTS after the first.
    pub const TAO_SSL_ENDPOINTS: u32 = 0x5441_4f01;
    /// TAO: addresses with their priorities.
    pub const TAO_ENDPOINTS: u32 = 0x5441_4f02;
    /// omniORB's UNIX socket in addition to a TCP address (TAG_OMNIORB_UNIX_TRANS).
    pub const OMNIORB_UNIX: u32 = 0x4154_5402;
    /// OxORB's UNIX socket in addition to a TCP address, with an identity for clients on the same
    /// host.
    pub const OXORB_SOCKET: u32 = 0x4f58_4f01;
    /// OxORB's shared memory in addition to a TCP address, with the identity of its socket for
    /// clients on the same host.
    pub const OXORB_SHM_SOCKET: u32 = 0x4f58_4f02;
    /// OxORB: maximum datagram size that a server accepts, in octets.
    pub const OXORB_DATAGRAM: u32 = 0x4f58_4f03;

    /// Returns the name of a known tag.
    pub fn name(tag: u32) -> Option<&'static str> {
        Some(match tag {
            0 => "TAG_ORB_TYPE",
            1 => "TAG_CODE_SETS",
            2 => "TAG_POLICIES",
            3 => "TAG_ALTERNATE_IIOP_ADDRESS",
            5 => "TAG_COMPLETE_OBJECT_KEY",
            6 => "TAG_ENDPOINT_ID_POSITION",
            12 => "TAG_LOCATION_POLICY",
            13 => "TAG_ASSOCIATION_OPTIONS",
            14 => "TAG_SEC_NAME",
            15 => "TAG_SPKM_1_SEC_MECH",
            16 => "TAG_SPKM_2_SEC_MECH",
            17 => "TAG_KerberosV5_SEC_MECH",
            18 => "TAG_CSI_ECMA_Secret_SEC_MECH",
            19 => "TAG_CSI_ECMA_Hybrid_SEC_MECH",
            20 => "TAG_SSL_SEC_TRANS",
            21 => "TAG_CSI_ECMA_Public_SEC_MECH",
            22 => "TAG_GENERIC_SEC_MECH",
            23 => "TAG_FIREWALL_TRANS",
            24 => "TAG_SCCP_CONTACT_INFO",
            25 => "TAG_JAVA_CODEBASE",
            26 => "TAG_TRANSACTION_POLICY",
            27 => "TAG_FT_GROUP",
            28 => "TAG_FT_PRIMARY",
            29 => "TAG_FT_HEARTBEAT_ENABLED",
            30 => "TAG_MESSAGE_ROUTER",
            31 => "TAG_OTS_POLICY",
            32 => "TAG_INV_POLICY",
            33 => "TAG_CSI_SEC_MECH_LIST",
            34 => "TAG_NULL_TAG",
            35 => "TAG_SECIOP_SEC_TRANS",
            36 => "TAG_TLS_SEC_TRANS",
            37 => "TAG_ACTIVITY_POLICY",
            38 => "TAG_RMI_CUSTOM_MAX_STREAM_FORMAT",
            GROUP => "TAG_GROUP",
            40 => "TAG_GROUP_IIOP",
            100 => "TAG_DCE_STRING_BINDING",
            101 => "TAG_DCE_BINDING_NAME",
            102 => "TAG_DCE_NO_PIPES",
            103 => "TAG_DCE_SEC_MECH",
            123 => "TAG_INET_SEC_TRANS",
            0x5441_4f01 => "TAO_TAG_SSL_ENDPOINTS",
            0x5441_4f02 => "TAO_TAG_ENDPOINTS",
            0x4154_5401 => "omniORB BIDIR",
            OMNIORB_UNIX => "omniORB UNIX_TRANS",
            OXORB_SOCKET => "OxORB SOCKET",
            OXORB_SHM_SOCKET => "OxORB SHM_SOCKET",
            OXORB_DATAGRAM => "OxORB DATAGRAM",
            0x4154_5403 => "omniORB PERSISTENT_ID",
            0x4154_5404 => "omniORB RESTRICTED_CONNECTION",
            _ => return None,
        })
    }
}

/// ORBs that make references: values of TAG_ORB_TYPE.
pub mod orb_type {
    /// OxORB: "OXO\0".
    pub const OXORB: u32 = 0x4f58_4f00;
    /// TAO: "TAO\0".
    pub const TAO: u32 = 0x5441_4f00;
    /// JacORB: "JAC\0".
    pub const JACORB: u32 = 0x4a41_4300;
    /// omniORB: "ATT\0".
    pub const OMNIORB: u32 = 0x4154_5400;

    /// Returns the name of a known ORB.
    pub fn name(orb_type: u32) -> Option<&'static str> {
        Some(match orb_type {
            OXORB => "OxORB",
            TAO => "TAO",
            JACORB => "JacORB",
            OMNIORB => "omniORB",
            _ => return None,
        })
    }
}

/// Decoded content of a component known to this crate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecodedComponent {
    /// ORB that made the reference; see [`orb_type`].
    OrbType(u32),
    /// Code sets of the server.
    CodeSets(CodeSetComponentInfo),
    /// Policies: type and value, which is an encapsulation.
    Policies(Vec<(u32, Vec<u8>)>),
    /// Alternate TCP address.
    AlternateIiopAddress(IiopEndpoint),
    /// TLS: supported and required association options, and the port.
    SslSecTrans {
        /// Options that the target supports.
        supports: u16,
        /// Options that the target requires.
        requires: u16,
        /// TLS port.
        port: u16,
    },
    /// Address from which Java classes can be loaded.
    JavaCodebase(String),
    /// TAO's addresses with the priority of each; the first repeats the profile's address.
    TaoEndpoints(Vec<(IiopEndpoint, i16)>),
    /// omniORB's UNIX socket, for clients on the same host.
    OmniorbUnix {
        /// Name of the host, as the host itself reports it.
        host: String,
        /// Path of the socket.
        path: String,
    },
    /// OxORB's UNIX socket, for clients on the same host.
    OxorbSocket {
        /// Path of the socket, or `@` and an abstract name.
        name: String,
        /// Identity that distinguishes the socket from others with this name.
        identity: SocketIdentity,
    },
    /// UNIX socket at which clients on the same host provide memory that they share with the
    /// server.
    OxorbShmSocket {
        /// Path of the socket, or `@` and an abstract name; preceded by the sizes of the memory and
        /// a colon, unless they are the defaults.
        place: String,
        /// Identity that distinguishes the socket from others with this name.
        identity: SocketIdentity,
    },
    /// Maximum datagram size that the server accepts, in octets (OxORB).
    OxorbDatagram(u32),
    /// Component of another kind.
    Unknown,
}

impl TaggedComponent {
    /// Returns the component that names the ORB that made the reference.
    pub fn orb_type(value: u32) -> Self {
        let data = encapsulate(|e| e.ulong(value));
        Self { tag: tag::ORB_TYPE, data }
    }

    /// Returns the component with the code sets of this side.
    pub fn code_sets(info: &CodeSetComponentInfo) -> Self {
        let data = encapsulate(|e| info.write(e));
        Self { tag: tag::CODE_SETS, data }
    }

    /// Returns the component with an alternate address of the same object.
    pub fn alternate_iiop_address(endpoint: &IiopEndpoint) -> Self {
        let data = encapsulate(|e| {
            write_text(e, &endpoint.host);
            e.ushort(endpoint.port);
        });
        Self { tag: tag::ALTERNATE_IIOP_ADDRESS, data }
    }

    /// Returns the component with addresses and the priority of the lane at each, starting with the
    /// profile's own (TAO).
    pub fn tao_endpoints(endpoints: &[(IiopEndpoint, i16)]) -> Self {
        let data = encapsulate(|e| {
            e.ulong(endpoints.len() as u32);
            for (endpoint, priority) in endpoints {
                write_text(e, &endpoint.host);
                e.ushort(endpoint.port);
                e.short(*priority);
            }
        });
        Self { tag: tag::TAO_ENDPOINTS, data }
    }

    /// Returns the component with paths of UNIX sockets and the priority of the lane at each,
    /// starting with the profile's own: the form of TAO_TAG_ENDPOINTS in a UIOP profile.
    pub fn tao_sockets<'p>(sockets: impl ExactSizeIterator<Item = (&'p str, i16)>) -> Self {
        let data = encapsulate(|e| {
            e.ulong(sockets.len() as u32);
            for (path, priority) in sockets {
                write_text(e, path);
                e.short(priority);
            }
        });
        Self { tag: tag::TAO_ENDPOINTS, data }
    }

    /// Decodes TAO_TAG_ENDPOINTS of a UIOP profile. Allocates the result.
    ///
    /// # Errors
    /// When the octets are malformed.
    pub fn sockets(&self) -> Result<Vec<(String, i16)>, Malformed> {
        let mut d = Decoder::encapsulated(&self.data, Dialect::GIOP_1_2)?;
        let count = d.length(None, 7)?;
        let one = |_| -> cdr::Result<_> { Ok((text(&mut d)?, d.short()?)) };
        Ok((0..count).map(one).collect::<cdr::Result<_>>()?)
    }

    /// Returns the component with a UNIX socket of the same server, for clients on the host of this
    /// name (omniORB).
    pub fn omniorb_unix(host: &str, path: &str) -> Self {
        let data = encapsulate(|e| {
            write_text(e, host);
            write_text(e, path);
        });
        Self { tag: tag::OMNIORB_UNIX, data }
    }

    /// Returns the component with a UNIX socket of the same server, for clients that find a socket
    /// with this name and identity (OxORB).
    pub fn oxorb_socket(name: &str, identity: &SocketIdentity) -> Self {
        let data = encapsulate(|e| {
            write_text(e, name);
            identity.write(e);
        });
        Self { tag: tag::OXORB_SOCKET, data }
    }

    /// Returns the component with the maximum datagram size that the server accepts, in octets
    /// (OxORB).
    pub fn oxorb_datagram(most: u32) -> Self {
        let data = encapsulate(|e| e.ulong(most));
        Self { tag: tag::OXORB_DATAGRAM, data }
    }

    /// Returns the component with a UNIX socket of the same server, for clients that find a socket
    /// with this name and identity, and provide memory (OxORB).
    pub fn oxorb_shm_socket(place: &str, identity: &SocketIdentity) -> Self {
        let data = encapsulate(|e| {
            write_text(e, place);
            identity.write(e);
        });
        Self { tag: tag::OXORB_SHM_SOCKET, data }
    }

    /// Decodes the component. Allocates the result.
    ///
    /// # Errors
    /// A known tag whose octets are malformed.
    pub fn decode(&self) -> Result<DecodedComponent, Malformed> {
        let inside = || Decoder::encapsulated(&self.data, Dialect::GIOP_1_2);
        Ok(match self.tag {
            tag::ORB_TYPE => DecodedComponent::OrbType(inside()?.ulong()?),
            tag::CODE_SETS => {
                DecodedComponent::CodeSets(CodeSetComponentInfo::read(&mut inside()?)?)
            }
            tag::POLICIES => DecodedComponent::Policies(policies(&mut inside()?)?),
            tag::ALTERNATE_IIOP_ADDRESS => {
                DecodedComponent::AlternateIiopAddress(address(&mut inside()?)?)
            }
            tag::SSL_SEC_TRANS => {
                let mut d = inside()?;
                DecodedComponent::SslSecTrans {
                    supports: d.ushort()?,
                    requires: d.ushort()?,
                    port: d.ushort()?,
                }
            }
            tag::JAVA_CODEBASE => DecodedComponent::JavaCodebase(text(&mut inside()?)?),
            tag::TAO_ENDPOINTS => DecodedComponent::TaoEndpoints(tao_endpoints(&mut inside()?)?),
            tag::OMNIORB_UNIX => {
                let mut d = inside()?;
                DecodedComponent::OmniorbUnix { host: text(&mut d)?, path: text(&mut d)? }
            }
            tag::OXORB_SOCKET => {
                let mut d = inside()?;
                DecodedComponent::OxorbSocket {
                    name: text(&mut d)?,
                    identity: SocketIdentity::read(&mut d)?,
                }
            }
            tag::OXORB_SHM_SOCKET => {
                let mut d = inside()?;
                DecodedComponent::OxorbShmSocket {
                    place: text(&mut d)?,
                    identity: SocketIdentity::read(&mut d)?,
                }
            }
            tag::OXORB_DATAGRAM => DecodedComponent::OxorbDatagram(inside()?.ulong()?),
            _ => DecodedComponent::Unknown,
        })
    }

    /// Returns the address of a well-formed TAG_ALTERNATE_IIOP_ADDRESS.
    pub(crate) fn alternate_address(&self) -> Option<IiopEndpoint> {
        if self.tag != tag::ALTERNATE_IIOP_ADDRESS {
            return None;
        }
        address(&mut Decoder::encapsulated(&self.data, Dialect::GIOP_1_2).ok()?).ok()
    }
}

/// Reads a list of components.
pub(crate) fn read(d: &mut Decoder<'_>) -> cdr::Result<Vec<TaggedComponent>> {
    let count = d.length(None, 8)?;
    let mut components = Vec::with_capacity(count.min(PLAUSIBLE_COUNT));
    for _ in 0..count {
        let tag = d.ulong()?;
        let length = d.length(None, 1)?;
        components.push(TaggedComponent { tag, data: d.octets(length)?.to_vec() });
    }
    Ok(components)
}

/// Writes a list of components.
pub(crate) fn write(e: &mut Encoder<'_>, components: &[TaggedComponent]) {
    e.ulong(components.len() as u32);
    for component in components {
        e.ulong(component.tag);
        write_octets(e, &component.data);
    }
}

/// Writes a string that is an identifier or a host name, without conversion.
pub(crate) fn write_text(e: &mut Encoder<'_>, text: &str) {
    e.ulong(text.len() as u32 + 1);
    e.copy_octets(text.as_bytes());
    e.octet(0);
}

/// Returns the octets of an encapsulation in the byte order used for publishing.
pub(crate) fn encapsulate(f: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    encapsulate_in(PUBLISHED, f)
}

/// Returns the octets of an encapsulation in a byte order.
pub(crate) fn encapsulate_in(order: ByteOrder, f: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let written = Encoder::encapsulated(order, Dialect::GIOP_1_2, |e| {
        f(e);
        Ok(())
    });
    written.expect("`f` cannot fail")
}

fn address(d: &mut Decoder<'_>) -> cdr::Result<IiopEndpoint> {
    Ok(IiopEndpoint { host: text(d)?, port: d.ushort()? })
}

fn policies(d: &mut Decoder<'_>) -> cdr::Result<Vec<(u32, Vec<u8>)>> {
    let count = d.length(None, 8)?;
    let one = |_| {
        let kind = d.ulong()?;
        let length = d.length(None, 1)?;
        Ok((kind, d.octets(length)?.to_vec()))
    };
    (0..count).map(one).collect()
}

fn tao_endpoints(d: &mut Decoder<'_>) -> cdr::Result<Vec<(IiopEndpoint, i16)>> {
    let count = d.length(None, 8)?;
    (0..count).map(|_| Ok((address(d)?, d.short()?))).collect()
}
