//! Priorities on the wire, in TAO's format: RT-CORBA policies in TAG_POLICIES, the service context
//! that carries a caller's priority, and the addresses of lanes (RT-CORBA 1.2; TAO_TAG_ENDPOINTS).
//!
//! Lists are short and bounded; `protocol_properties.rs` contains protocols and their properties.

use crate::prelude::*;
use core::fmt;

use oxorb_cdr::{Decoder, Dialect};

use crate::components::encapsulate;
use crate::ior::write_octets;
use crate::protocol_properties::{read_protocols, write_protocols};
use crate::{Malformed, Protocol, TaggedComponent, policy_type};

/// Rule that determines the priority at which a request is served (`RTCORBA::PriorityModel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PriorityModel {
    /// Priority of the client, sent with each request. 0 on the wire.
    ClientPropagated,
    /// Priority that the server declares for each object. 1 on the wire.
    ServerDeclared,
}

/// `RTCORBA::PriorityModelPolicy`, type 40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PriorityModelPolicy {
    /// Rule that determines the priority.
    pub model: PriorityModel,
    /// Priority of the object; under [`PriorityModel::ClientPropagated`], that of requests without
    /// one.
    pub server_priority: i16,
}

/// Range of priorities that share a connection (`RTCORBA::PriorityBand`), both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PriorityBand {
    /// Lowest priority.
    pub low: i16,
    /// Highest priority.
    pub high: i16,
}

impl PriorityBand {
    /// Reports whether a priority is within the band.
    pub fn contains(&self, priority: i16) -> bool {
        (self.low..=self.high).contains(&priority)
    }
}

/// Bounded list stored inline, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InlineList<T, const MAX: usize> {
    items: [T; MAX],
    count: usize,
}

/// Error for more items than a bounded list can contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Number of items given.
    pub given: usize,
    /// Maximum number of items.
    pub most: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the list has {} items, but can have at most {}", self.given, self.most)
    }
}

impl fmt::Debug for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for TooMany {}

/// `RTCORBA::PriorityBands`, limited to 16.
pub type PriorityBands = InlineList<PriorityBand, 16>;

impl<T: Copy + Default, const MAX: usize> InlineList<T, MAX> {
    /// Creates a list of these items.
    ///
    /// # Errors
    /// [`TooMany`] for more than `MAX` items.
    pub fn new(list: &[T]) -> Result<Self, TooMany> {
        let mut items = [T::default(); MAX];
        let too_many = TooMany { given: list.len(), most: MAX };
        let places = items.get_mut(..list.len()).ok_or(too_many)?;
        places.copy_from_slice(list);
        Ok(InlineList { items, count: list.len() })
    }

    /// Returns the items.
    pub fn as_slice(&self) -> &[T] {
        &self.items[..self.count]
    }

    fn push(&mut self, item: T) -> bool {
        let room = self.items.get_mut(self.count);
        let fits = room.is_some();
        if let Some(place) = room {
            *place = item;
            self.count += 1;
        }
        fits
    }
}

impl<T: Copy + Default, const MAX: usize> Default for InlineList<T, MAX> {
    fn default() -> Self {
        InlineList { items: [T::default(); MAX], count: 0 }
    }
}

impl<T: Copy + Default, const MAX: usize> core::ops::Deref for InlineList<T, MAX> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

/// RT-CORBA policy in a reference.
///
/// ```
/// use oxorb_object::{PriorityModel, PriorityModelPolicy, RtPolicyValue};
///
/// let model = PriorityModelPolicy { model: PriorityModel::ServerDeclared, server_priority: 7 };
/// let value = RtPolicyValue::Model(model).encode();
/// assert_eq!(value, [0, 0, 0, 0, 0, 0, 0, 1, 0, 7]);
/// assert_eq!(RtPolicyValue::decode(40, &value)?, Some(RtPolicyValue::Model(model)));
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RtPolicyValue {
    /// Type 40.
    Model(PriorityModelPolicy),
    /// ClientProtocolPolicy, type 43.
    ClientProtocols(Vec<Protocol>),
    /// PriorityBandedConnectionPolicy, type 45.
    Bands(PriorityBands),
}

impl RtPolicyValue {
    /// Returns the policy type of the value.
    pub fn policy_type(&self) -> u32 {
        match self {
            RtPolicyValue::Model(_) => policy_type::PRIORITY_MODEL,
            RtPolicyValue::ClientProtocols(_) => policy_type::CLIENT_PROTOCOL,
            RtPolicyValue::Bands(_) => policy_type::PRIORITY_BANDED_CONNECTION,
        }
    }

    /// Returns the policy value, an encapsulation. Allocates.
    pub fn encode(&self) -> Vec<u8> {
        encapsulate(|e| match self {
            RtPolicyValue::Model(policy) => {
                e.ulong(match policy.model {
                    PriorityModel::ClientPropagated => 0,
                    PriorityModel::ServerDeclared => 1,
                });
                e.short(policy.server_priority);
            }
            RtPolicyValue::ClientProtocols(protocols) => write_protocols(e, protocols),
            RtPolicyValue::Bands(bands) => {
                e.ulong(bands.len() as u32);
                for band in bands.iter() {
                    e.short(band.low);
                    e.short(band.high);
                }
            }
        })
    }

    /// Parses a policy value. Returns `None` for another type, an unknown model, and lists that
    /// exceed the maximum length or contain protocols with unknown properties. Allocates for a list
    /// of protocols only.
    ///
    /// # Errors
    /// Octets that are not a value of the type.
    pub fn decode(kind: u32, value: &[u8]) -> Result<Option<Self>, Malformed> {
        let open = || Decoder::encapsulated(value, Dialect::GIOP_1_2);
        Ok(match kind {
            policy_type::PRIORITY_MODEL => {
                let mut d = open()?;
                let model = match d.ulong()? {
                    0 => PriorityModel::ClientPropagated,
                    1 => PriorityModel::ServerDeclared,
                    _ => return Ok(None),
                };
                let server_priority = d.short()?;
                Some(RtPolicyValue::Model(PriorityModelPolicy { model, server_priority }))
            }
            policy_type::CLIENT_PROTOCOL => {
                read_protocols(&mut open()?)?.map(RtPolicyValue::ClientProtocols)
            }
            policy_type::PRIORITY_BANDED_CONNECTION => {
                let mut d = open()?;
                let mut bands = PriorityBands::default();
                for _ in 0..d.length(None, 4)? {
                    let (low, high) = (d.short()?, d.short()?);
                    if !bands.push(PriorityBand { low, high }) {
                        return Ok(None);
                    }
                }
                Some(RtPolicyValue::Bands(bands))
            }
            _ => None,
        })
    }
}

/// Returns the component TAG_POLICIES with these policies, in this order.
pub fn policies_component(policies: &[RtPolicyValue]) -> TaggedComponent {
    let data = encapsulate(|e| {
        e.ulong(policies.len() as u32);
        for policy in policies {
            e.ulong(policy.policy_type());
            write_octets(e, &policy.encode());
        }
    });
    TaggedComponent { tag: crate::components::tag::POLICIES, data }
}

/// Returns the octets of the service context RTCorbaPriorityRange (id 11): the band of a connection
/// (RT-CORBA 1.2, 5.14).
pub const fn priority_range_context(low: i16, high: i16) -> [u8; 6] {
    let ([low_0, low_1], [high_0, high_1]) = (low.to_be_bytes(), high.to_be_bytes());
    [0, 0, low_0, low_1, high_0, high_1]
}

/// Parses the band in a service context RTCorbaPriorityRange.
///
/// # Errors
/// Octets that are not an encapsulation of two `short`s.
pub fn parse_priority_range_context(data: &[u8]) -> Result<PriorityBand, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let (low, high) = (d.short()?, d.short()?);
    Ok(PriorityBand { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::DecodedComponent;
    use crate::{
        IiopEndpoint, MAX_PROTOCOLS, PolicyValues, SharedMemoryProtocolProperties,
        TcpProtocolProperties, UnixDomainProtocolProperties, profile_tag,
    };

    /// Component that TAO writes: the component's encapsulation, with one
    /// encapsulation for each value in it.
    #[test]
    fn tag_policies_is_laid_out_as_by_tao() {
        let bands = [PriorityBand { low: 0, high: 9 }, PriorityBand { low: 10, high: 99 }];
        let component = policies_component(&[
            RtPolicyValue::Bands(PriorityBands::new(&bands).unwrap()),
            RtPolicyValue::Model(PriorityModelPolicy {
                model: PriorityModel::ClientPropagated,
                server_priority: 0x0102,
            }),
        ]);
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 0, 0, 0, 0, 2, // byte order, padding, two values
            0, 0, 0, 45, 0, 0, 0, 16, // bands, 16 octets:
            0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9, 0, 10, 0, 99,
            0, 0, 0, 40, 0, 0, 0, 10, // model, 10 octets:
            0, 0, 0, 0, 0, 0, 0, 0, 1, 2,
        ];
        assert_eq!((component.tag, component.data.as_slice()), (2, &expected[..]));
    }

    #[test]
    fn values_come_back_in_either_byte_order() {
        let tcp = TcpProtocolProperties {
            send_buffer_size: 70_000,
            dont_route: true,
            ..TcpProtocolProperties::default()
        };
        let unix = UnixDomainProtocolProperties { send_buffer_size: 3, recv_buffer_size: -1 };
        let memory = SharedMemoryProtocolProperties {
            preallocate_buffer_size: 1 << 20,
            keep_alive: false,
            mmap_filename: "/dev/shm/plots".to_owned(),
            ..SharedMemoryProtocolProperties::default()
        };
        let protocols = vec![
            Protocol::new(profile_tag::TAO_DIOP),
            Protocol::with(profile_tag::INTERNET_IOP, tcp),
            Protocol::with(profile_tag::TAO_SHMIOP, memory),
            Protocol::with(profile_tag::TAO_UIOP, unix),
        ];
        let all = [
            RtPolicyValue::ClientProtocols(protocols),
            RtPolicyValue::Bands(PriorityBands::new(&[PriorityBand { low: 1, high: 2 }]).unwrap()),
        ];
        let component = policies_component(&all);
        let read: Vec<_> = PolicyValues::parse(&component.data)
            .unwrap()
            .map(|value| {
                let (kind, value) = value.unwrap();
                RtPolicyValue::decode(kind, value).unwrap().unwrap()
            })
            .collect();
        assert_eq!(read, all);
        // A little-endian TAO writes the same policy in its own byte order.
        let model = RtPolicyValue::decode(40, &[1, 0, 0, 0, 1, 0, 0, 0, 7, 0]).unwrap();
        assert_eq!(
            model,
            Some(RtPolicyValue::Model(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: 7,
            }))
        );
    }

    /// TAO's GIOP has no properties; those of UIOP are two `long`s, those of SHMIOP end with two
    /// strings.
    #[test]
    fn protocol_properties_are_laid_out_as_by_tao() {
        let memory = SharedMemoryProtocolProperties {
            send_buffer_size: 1,
            recv_buffer_size: 2,
            preallocate_buffer_size: 3,
            mmap_filename: "ab".to_owned(),
            ..SharedMemoryProtocolProperties::default()
        };
        let unix = UnixDomainProtocolProperties { send_buffer_size: 4, recv_buffer_size: 5 };
        let value = RtPolicyValue::ClientProtocols(vec![
            Protocol::with(profile_tag::TAO_UIOP, unix),
            Protocol::with(profile_tag::TAO_SHMIOP, memory),
        ]);
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 0, 0, 0, 0, 2, // byte order, padding, two protocols
            0x54, 0x41, 0x4f, 0, 0, 0, 0, 4, 0, 0, 0, 5,
            0x54, 0x41, 0x4f, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 3,
            0, 0, 0, 3, b'a', b'b', 0, 0, 0, 0, 0, 1, 0,
        ];
        assert_eq!(value.encode(), expected);
    }

    #[test]
    fn what_is_unknown_is_passed_over_and_what_is_cut_off_an_error() {
        assert_eq!(RtPolicyValue::decode(31, &[9]), Ok(None));
        assert_eq!(RtPolicyValue::decode(40, &[0, 0, 0, 0, 0, 0, 0, 2, 0, 0]), Ok(None));
        let unknown_protocol = [0, 0, 0, 0, 0, 0, 0, 1, 9, 9, 9, 9];
        assert_eq!(RtPolicyValue::decode(43, &unknown_protocol), Ok(None));
        let too_many = vec![Protocol::new(profile_tag::TAO_DIOP); MAX_PROTOCOLS + 1];
        let too_many = RtPolicyValue::ClientProtocols(too_many).encode();
        assert_eq!(RtPolicyValue::decode(43, &too_many), Ok(None));
        let memory = SharedMemoryProtocolProperties::default();
        let memory = vec![Protocol::with(profile_tag::TAO_SHMIOP, memory)];
        let memory = RtPolicyValue::ClientProtocols(memory).encode();
        for end in 0..memory.len() {
            assert!(RtPolicyValue::decode(43, &memory[..end]).is_err(), "{end}");
        }
        let whole =
            RtPolicyValue::Bands(PriorityBands::new(&[PriorityBand::default(); 16]).unwrap())
                .encode();
        for end in 0..whole.len() {
            assert!(RtPolicyValue::decode(45, &whole[..end]).is_err(), "{end}");
        }
        assert_eq!(
            PriorityBands::new(&[PriorityBand::default(); 17]).map_err(|error| error.to_string()),
            Err("the list has 17 items, but can have at most 16".to_owned())
        );
        let mut many = whole;
        many[7] = 17;
        many.extend([0; 4]);
        assert_eq!(RtPolicyValue::decode(45, &many), Ok(None));
    }

    #[test]
    fn lane_addresses_are_laid_out_as_by_tao() {
        let endpoint = |port, priority| {
            let host = "ab".to_owned();
            (IiopEndpoint { host, port }, priority)
        };
        let lanes = vec![endpoint(0x1234, 7), endpoint(0x1235, -1)];
        let component = TaggedComponent::tao_endpoints(&lanes);
        #[rustfmt::skip]
        let expected = [
            0, 0, 0, 0, 0, 0, 0, 2,
            0, 0, 0, 3, b'a', b'b', 0, 0, 0x12, 0x34, 0, 7,
            0, 0, 0, 3, b'a', b'b', 0, 0, 0x12, 0x35, 0xff, 0xff,
        ];
        assert_eq!(component.data, expected);
        assert_eq!(component.decode(), Ok(DecodedComponent::TaoEndpoints(lanes)));
    }
}
