//! Tagged components: what a profile says besides where the object is (CORBA 3.4, 13.6.6).

use crate::prelude::*;
use oxorb_cdr::{self as cdr, ByteOrder, Decoder, Dialect, Encoder};

use crate::{
    CodeSetComponentInfo, IiopEndpoint, Malformed, SocketIdentity, iiop_profile::PUBLISHED,
    ior::PLAUSIBLE_COUNT, ior::text, ior::write_octets,
};

/// A component: a tag and octets, usually an encapsulation. Unknown ones are kept as they came.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaggedComponent {
    /// Kind of component, see [`tag`].
    pub tag: u32,
    /// The component's octets.
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
    /// Group that a profile of multicasts names.
    pub const GROUP: u32 = 39;
    /// TAO: TLS ports of the addresses of TAO_TAG_ENDPOINTS after the first.
    pub const TAO_SSL_ENDPOINTS: u32 = 0x5441_4f01;
    /// TAO: addresses with their priorities.
    pub const TAO_ENDPOINTS: u32 = 0x5441_4f02;
    /// omniORB's UNIX socket beside a TCP address (TAG_OMNIORB_UNIX_TRANS).
    pub const OMNIORB_UNIX: u32 = 0x4154_5402;
    /// OxORB's UNIX socket beside a TCP address, with what a client on the same host knows it by.
    pub const OXORB_SOCKET: u32 = 0x4f58_4f01;
    /// OxORB's shared memory beside a TCP address, with what a client on the same host knows its socket by.
    pub const OXORB_SHM_SOCKET: u32 = 0x4f58_4f02;
    /// OxORB: the most octets that a server takes in a datagram.
    pub const OXORB_DATAGRAM: u32 = 0x4f58_4f03;

    /// The name of a known tag.
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

    /// The name of a known ORB.
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

/// Content of a component, as far as this crate understands it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Component {
    /// ORB that made the reference, see [`orb_type`].
    OrbType(u32),
    /// Code sets of the server.
    CodeSets(CodeSetComponentInfo),
    /// Policies: type and value, the value an encapsulation.
    Policies(Vec<(u32, Vec<u8>)>),
    /// Alternate TCP address.
    AlternateIiopAddress(IiopEndpoint),
    /// TLS: association options supported and required, and the port.
    SslSecTrans {
        /// Options the target supports.
        supports: u16,
        /// Options it insists on.
        requires: u16,
        /// TLS port.
        port: u16,
    },
    /// Address from which Java classes can be loaded.
    JavaCodebase(String),
    /// TAO's addresses with the priority of each; the first repeats the profile's own.
    TaoEndpoints(Vec<(IiopEndpoint, i16)>),
    /// omniORB's UNIX socket, for clients on the same host.
    OmniorbUnix {
        /// Name of the host, as the host itself says it.
        host: String,
        /// Path of the socket.
        path: String,
    },
    /// OxORB's UNIX socket, for clients on the same host.
    OxorbSocket {
        /// Path of the socket, or `@` and an abstract name.
        name: String,
        /// Identity that tells the socket from others of this name.
        identity: SocketIdentity,
    },
    /// UNIX socket at which clients on the same host bring memory that they share with the server.
    OxorbShmSocket {
        /// Path of the socket, or `@` and an abstract name; in front of it the sizes of the memory and a colon, where they are
        /// not the usual ones.
        place: String,
        /// Identity that tells the socket from others of this name.
        identity: SocketIdentity,
    },
    /// Most octets that the server takes in a datagram (OxORB).
    OxorbDatagram(u32),
    /// Something else.
    Unknown,
}

impl TaggedComponent {
    /// Returns the component that names the ORB which made the reference.
    pub fn orb_type(value: u32) -> Self {
        let data = encapsulate(|e| e.ulong(value));
        Self { tag: tag::ORB_TYPE, data }
    }

    /// The code sets this side can use.
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

    /// Addresses with the priority of the lane behind each, the profile's own first (TAO).
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

    /// Paths of UNIX sockets with the priority of the lane behind each, the profile's own first: what
    /// TAO_TAG_ENDPOINTS is in a UIOP profile.
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

    /// Reads TAO_TAG_ENDPOINTS of a UIOP profile. Allocates for what it holds.
    ///
    /// # Errors
    /// When the octets are malformed.
    pub fn sockets(&self) -> Result<Vec<(String, i16)>, Malformed> {
        let mut d = Decoder::encapsulated(&self.data, Dialect::GIOP_1_2)?;
        let count = d.length(None, 7)?;
        let one = |_| -> cdr::Result<_> { Ok((text(&mut d)?, d.short()?)) };
        Ok((0..count).map(one).collect::<cdr::Result<_>>()?)
    }

    /// A UNIX socket of the same server, for clients on the host of this name (omniORB).
    pub fn omniorb_unix(host: &str, path: &str) -> Self {
        let data = encapsulate(|e| {
            write_text(e, host);
            write_text(e, path);
        });
        Self { tag: tag::OMNIORB_UNIX, data }
    }

    /// A UNIX socket of the same server, for clients that find it by its name to be the one of this
    /// identity (OxORB).
    pub fn oxorb_socket(name: &str, identity: &SocketIdentity) -> Self {
        let data = encapsulate(|e| {
            write_text(e, name);
            identity.write(e);
        });
        Self { tag: tag::OXORB_SOCKET, data }
    }

    /// The most octets that the server takes in a datagram (OxORB).
    pub fn oxorb_datagram(most: u32) -> Self {
        let data = encapsulate(|e| e.ulong(most));
        Self { tag: tag::OXORB_DATAGRAM, data }
    }

    /// A UNIX socket of the same server, for clients that find it by its name to be the one of this identity, and bring
    /// memory (OxORB).
    pub fn oxorb_shm_socket(place: &str, identity: &SocketIdentity) -> Self {
        let data = encapsulate(|e| {
            write_text(e, place);
            identity.write(e);
        });
        Self { tag: tag::OXORB_SHM_SOCKET, data }
    }

    /// Reads what the component says. Allocates for what it holds.
    ///
    /// # Errors
    /// A known tag whose octets are malformed.
    pub fn decode(&self) -> Result<Component, Malformed> {
        let inside = || Decoder::encapsulated(&self.data, Dialect::GIOP_1_2);
        Ok(match self.tag {
            tag::ORB_TYPE => Component::OrbType(inside()?.ulong()?),
            tag::CODE_SETS => Component::CodeSets(CodeSetComponentInfo::read(&mut inside()?)?),
            tag::POLICIES => Component::Policies(policies(&mut inside()?)?),
            tag::ALTERNATE_IIOP_ADDRESS => {
                Component::AlternateIiopAddress(address(&mut inside()?)?)
            }
            tag::SSL_SEC_TRANS => {
                let mut d = inside()?;
                Component::SslSecTrans {
                    supports: d.ushort()?,
                    requires: d.ushort()?,
                    port: d.ushort()?,
                }
            }
            tag::JAVA_CODEBASE => Component::JavaCodebase(text(&mut inside()?)?),
            tag::TAO_ENDPOINTS => Component::TaoEndpoints(tao_endpoints(&mut inside()?)?),
            tag::OMNIORB_UNIX => {
                let mut d = inside()?;
                Component::OmniorbUnix { host: text(&mut d)?, path: text(&mut d)? }
            }
            tag::OXORB_SOCKET => {
                let mut d = inside()?;
                Component::OxorbSocket {
                    name: text(&mut d)?,
                    identity: SocketIdentity::read(&mut d)?,
                }
            }
            tag::OXORB_SHM_SOCKET => {
                let mut d = inside()?;
                Component::OxorbShmSocket {
                    place: text(&mut d)?,
                    identity: SocketIdentity::read(&mut d)?,
                }
            }
            tag::OXORB_DATAGRAM => Component::OxorbDatagram(inside()?.ulong()?),
            _ => Component::Unknown,
        })
    }

    /// The address of a well-formed TAG_ALTERNATE_IIOP_ADDRESS.
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

/// The octets of an encapsulation in the byte order we publish.
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
