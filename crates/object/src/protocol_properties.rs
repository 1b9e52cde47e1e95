//! Protocols and their properties on the wire, in TAO's format: the lists of RT-CORBA's protocol
//! policies (RT-CORBA 1.2, 5.15).

use crate::prelude::*;
use oxorb_cdr::{self as cdr, Decoder, Encoder};

use crate::profile_tag;

/// Maximum number of protocols read from one list; longer lists are ignored.
pub const MAX_PROTOCOLS: usize = 16;

/// Maximum length of a file name in the properties of shared memory, in octets.
pub const MAX_MMAP_NAME: u32 = 4096;

/// Properties of TCP connections (`RTCORBA::TCPProtocolProperties`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpProtocolProperties {
    /// `send_buffer_size` in octets; 0: system default.
    pub send_buffer_size: i32,
    /// `recv_buffer_size` in octets; 0: system default.
    pub recv_buffer_size: i32,
    /// `keep_alive`.
    pub keep_alive: bool,
    /// `dont_route`.
    pub dont_route: bool,
    /// `no_delay`.
    pub no_delay: bool,
    /// `enable_network_priority`: whether packets carry the DSCP of the call's priority. Not sent.
    pub enable_network_priority: bool,
}

impl Default for TcpProtocolProperties {
    /// The defaults of RT-CORBA 1.2, except `no_delay`, which is set as everywhere in OxORB.
    fn default() -> Self {
        TcpProtocolProperties {
            send_buffer_size: 0,
            recv_buffer_size: 0,
            keep_alive: true,
            dont_route: false,
            no_delay: true,
            enable_network_priority: false,
        }
    }
}

/// Properties of UNIX socket connections (`RTCORBA::UnixDomainProtocolProperties`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct UnixDomainProtocolProperties {
    /// `send_buffer_size` in octets; 0: system default.
    pub send_buffer_size: i32,
    /// `recv_buffer_size` in octets; 0: system default.
    pub recv_buffer_size: i32,
}

/// Properties of connections over shared memory (`RTCORBA::SharedMemoryProtocolProperties`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedMemoryProtocolProperties {
    /// `send_buffer_size` in octets; 0: system default.
    pub send_buffer_size: i32,
    /// `recv_buffer_size` in octets; 0: system default.
    pub recv_buffer_size: i32,
    /// `keep_alive` of the accompanying socket.
    pub keep_alive: bool,
    /// `dont_route` of the accompanying socket.
    pub dont_route: bool,
    /// `no_delay` of the accompanying socket.
    pub no_delay: bool,
    /// `preallocate_buffer_size`: size in octets of the memory allocated before the first message.
    pub preallocate_buffer_size: i32,
    /// `mmap_filename`; if empty, the protocol chooses it.
    pub mmap_filename: String,
    /// `mmap_lockname`; if empty, the protocol chooses it.
    pub mmap_lockname: String,
}

impl Default for SharedMemoryProtocolProperties {
    fn default() -> Self {
        SharedMemoryProtocolProperties {
            send_buffer_size: 0,
            recv_buffer_size: 0,
            keep_alive: true,
            dont_route: false,
            no_delay: true,
            preallocate_buffer_size: 0,
            mmap_filename: String::new(),
            mmap_lockname: String::new(),
        }
    }
}

/// Transport properties of one protocol of a list (`transport_protocol_properties`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ProtocolProperties {
    /// Absence of properties: the defaults of the ORB and the system apply.
    #[default]
    None,
    /// Properties of TCP, and of SCTP, which has the same ones.
    Tcp(TcpProtocolProperties),
    /// Properties of UNIX sockets.
    UnixDomain(UnixDomainProtocolProperties),
    /// Properties of shared memory.
    SharedMemory(SharedMemoryProtocolProperties),
}

impl From<TcpProtocolProperties> for ProtocolProperties {
    fn from(properties: TcpProtocolProperties) -> Self {
        Self::Tcp(properties)
    }
}

impl From<UnixDomainProtocolProperties> for ProtocolProperties {
    fn from(properties: UnixDomainProtocolProperties) -> Self {
        Self::UnixDomain(properties)
    }
}

impl From<SharedMemoryProtocolProperties> for ProtocolProperties {
    fn from(properties: SharedMemoryProtocolProperties) -> Self {
        Self::SharedMemory(properties)
    }
}

/// Protocol with its properties (`RTCORBA::Protocol`). GIOP itself has no properties.
///
/// ```
/// use oxorb_object::{Protocol, TcpProtocolProperties, UnixDomainProtocolProperties, profile_tag};
///
/// let preferred = Protocol::with(profile_tag::TAO_UIOP, UnixDomainProtocolProperties::default());
/// let otherwise = Protocol::new(profile_tag::INTERNET_IOP);
/// assert_ne!(preferred, otherwise);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Protocol {
    /// Tag of the protocol's profiles: [`profile_tag::INTERNET_IOP`] for TCP.
    pub protocol_type: u32,
    /// `transport_protocol_properties`; ignored if they belong to another protocol.
    pub transport: ProtocolProperties,
}

impl Protocol {
    /// Returns a protocol, by the tag of its profiles, without properties.
    pub const fn new(protocol_type: u32) -> Self {
        Self { protocol_type, transport: ProtocolProperties::None }
    }

    /// Returns a protocol, by the tag of its profiles, with properties.
    pub fn with(protocol_type: u32, properties: impl Into<ProtocolProperties>) -> Self {
        Self { protocol_type, transport: properties.into() }
    }

    /// Returns the properties of TCP, if they are set.
    pub fn tcp(&self) -> Option<TcpProtocolProperties> {
        match self.transport {
            ProtocolProperties::Tcp(properties) => Some(properties),
            _ => None,
        }
    }
}

/// Writes a `ProtocolList`. Properties of the wrong protocol are written as the defaults.
pub(crate) fn write_protocols(e: &mut Encoder<'_>, protocols: &[Protocol]) {
    e.ulong(protocols.len() as u32);
    for protocol in protocols {
        e.ulong(protocol.protocol_type);
        match protocol.protocol_type {
            profile_tag::INTERNET_IOP | profile_tag::TAO_SCIOP => {
                write_tcp(e, protocol.tcp().unwrap_or_default());
            }
            profile_tag::TAO_UIOP => {
                let unix = match protocol.transport {
                    ProtocolProperties::UnixDomain(unix) => unix,
                    _ => UnixDomainProtocolProperties::default(),
                };
                e.long(unix.send_buffer_size);
                e.long(unix.recv_buffer_size);
            }
            profile_tag::TAO_SHMIOP => match &protocol.transport {
                ProtocolProperties::SharedMemory(memory) => write_shared_memory(e, memory),
                _ => write_shared_memory(e, &SharedMemoryProtocolProperties::default()),
            },
            _ => {}
        }
    }
}

fn write_tcp(e: &mut Encoder<'_>, tcp: TcpProtocolProperties) {
    e.long(tcp.send_buffer_size);
    e.long(tcp.recv_buffer_size);
    e.boolean(tcp.keep_alive);
    e.boolean(tcp.dont_route);
    e.boolean(tcp.no_delay);
}

fn write_shared_memory(e: &mut Encoder<'_>, memory: &SharedMemoryProtocolProperties) {
    e.long(memory.send_buffer_size);
    e.long(memory.recv_buffer_size);
    e.boolean(memory.keep_alive);
    e.boolean(memory.dont_route);
    e.boolean(memory.no_delay);
    e.long(memory.preallocate_buffer_size);
    write_name(e, &memory.mmap_filename);
    write_name(e, &memory.mmap_lockname);
}

/// Writes a name up to its first zero octet, which CDR strings cannot contain.
fn write_name(e: &mut Encoder<'_>, name: &str) {
    let name = name.split('\0').next().unwrap_or_default();
    e.ulong(name.len() as u32 + 1);
    e.copy_octets(name.as_bytes());
    e.octet(0);
}

/// Reads a `ProtocolList`. Returns `None` for a list with a protocol whose properties have an
/// unknown length, or with more than [`MAX_PROTOCOLS`].
pub(crate) fn read_protocols(d: &mut Decoder<'_>) -> cdr::Result<Option<Vec<Protocol>>> {
    let count = d.length(None, 4)?;
    if count > MAX_PROTOCOLS {
        return Ok(None);
    }
    let mut protocols = Vec::with_capacity(count);
    for _ in 0..count {
        let Some(protocol) = read_protocol(d)? else {
            return Ok(None);
        };
        protocols.push(protocol);
    }
    Ok(Some(protocols))
}

/// Reads one protocol of a list; `None` if the length of its properties is unknown.
pub(crate) fn read_protocol(d: &mut Decoder<'_>) -> cdr::Result<Option<Protocol>> {
    let protocol_type = d.ulong()?;
    let transport = match protocol_type {
        profile_tag::INTERNET_IOP | profile_tag::TAO_SCIOP => {
            ProtocolProperties::Tcp(TcpProtocolProperties {
                send_buffer_size: d.long()?,
                recv_buffer_size: d.long()?,
                keep_alive: d.boolean()?,
                dont_route: d.boolean()?,
                no_delay: d.boolean()?,
                enable_network_priority: false,
            })
        }
        profile_tag::TAO_UIOP => ProtocolProperties::UnixDomain(UnixDomainProtocolProperties {
            send_buffer_size: d.long()?,
            recv_buffer_size: d.long()?,
        }),
        profile_tag::TAO_SHMIOP => {
            ProtocolProperties::SharedMemory(SharedMemoryProtocolProperties {
                send_buffer_size: d.long()?,
                recv_buffer_size: d.long()?,
                keep_alive: d.boolean()?,
                dont_route: d.boolean()?,
                no_delay: d.boolean()?,
                preallocate_buffer_size: d.long()?,
                mmap_filename: read_name(d)?,
                mmap_lockname: read_name(d)?,
            })
        }
        profile_tag::TAO_DIOP => ProtocolProperties::None,
        _ => return Ok(None),
    };
    Ok(Some(Protocol { protocol_type, transport }))
}

fn read_name(d: &mut Decoder<'_>) -> cdr::Result<String> {
    Ok(d.bounded_string(MAX_MMAP_NAME)?.into_owned())
}
