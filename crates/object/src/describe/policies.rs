//! Explanation of policies in references.

use crate::prelude::*;
use oxorb_cdr::{Decoder, Dialect};

use super::{ExplainedField, to_hex};
use crate::ior::profile_tag;
use crate::protocol_properties::read_protocol;
use crate::{
    Malformed, PolicyValues, ProtocolProperties, policy_type, range_value, time_value, utc_value,
};

/// Explains a TAG_POLICIES component: a field for each policy.
pub(super) fn fields(data: &[u8]) -> Result<Vec<ExplainedField>, Malformed> {
    PolicyValues::parse(data)?
        .map(|policy| policy.map(|(kind, value)| field(kind, value)))
        .collect()
}

/// Explains one policy. A malformed value is shown in hexadecimal, so that the other policies can
/// still be explained.
fn field(kind: u32, value: &[u8]) -> ExplainedField {
    let said = match says(kind, value) {
        Ok(Some(said)) => said,
        Ok(None) => to_hex(value),
        Err(error) => format!("{} (malformed: {error})", to_hex(value)),
    };
    match name(kind) {
        Some(label) => ExplainedField { label, value: said },
        None => ExplainedField { label: "policy", value: format!("type {kind}, value {said}") },
    }
}

/// Returns the name of a policy type.
fn name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        23 => "RebindPolicy",
        24 => "SyncScopePolicy",
        policy_type::REQUEST_PRIORITY => "RequestPriorityPolicy",
        policy_type::REPLY_PRIORITY => "ReplyPriorityPolicy",
        policy_type::REQUEST_START_TIME => "RequestStartTimePolicy",
        policy_type::REQUEST_END_TIME => "RequestEndTimePolicy",
        policy_type::REPLY_START_TIME => "ReplyStartTimePolicy",
        policy_type::REPLY_END_TIME => "ReplyEndTimePolicy",
        policy_type::RELATIVE_REQUEST_TIMEOUT => "RelativeRequestTimeoutPolicy",
        policy_type::RELATIVE_ROUNDTRIP_TIMEOUT => "RelativeRoundtripTimeoutPolicy",
        33 => "RoutingPolicy",
        34 => "MaxHopsPolicy",
        policy_type::QUEUE_ORDER => "QueueOrderPolicy",
        37 => "BidirectionalPolicy",
        policy_type::PRIORITY_MODEL => "PriorityModelPolicy",
        41 => "ThreadpoolPolicy",
        SERVER_PROTOCOL => "ServerProtocolPolicy",
        policy_type::CLIENT_PROTOCOL => "ClientProtocolPolicy",
        44 => "PrivateConnectionPolicy",
        policy_type::PRIORITY_BANDED_CONNECTION => "PriorityBandedConnectionPolicy",
        64 => "ZIOP CompressionEnablingPolicy",
        65 => "ZIOP CompressorIdLevelListPolicy",
        66 => "ZIOP CompressionLowValuePolicy",
        67 => "ZIOP CompressionMinRatioPolicy",
        _ => return None,
    })
}

/// RTCORBA::ServerProtocolPolicy: the protocols that a server offers, with their properties.
const SERVER_PROTOCOL: u32 = 42;

/// Describes a value; returns `None` for policies known by name only.
fn says(kind: u32, value: &[u8]) -> Result<Option<String>, Malformed> {
    let inside = || Decoder::encapsulated(value, Dialect::GIOP_1_2);
    Ok(Some(match kind {
        policy_type::PRIORITY_MODEL => {
            let mut d = inside()?;
            let model = d.ulong()?;
            let priority = d.short()?;
            match model {
                0 => format!("CLIENT_PROPAGATED, priority {priority} where a request has none"),
                1 => format!("SERVER_DECLARED, priority {priority}"),
                other => format!("model {other}, priority {priority}"),
            }
        }
        SERVER_PROTOCOL | policy_type::CLIENT_PROTOCOL => protocols(&mut inside()?)?,
        policy_type::PRIORITY_BANDED_CONNECTION => {
            let mut d = inside()?;
            let count = d.length(None, 4)?;
            let bands = (0..count).map(|_| Ok(format!("{} to {}", d.short()?, d.short()?)));
            bands.collect::<Result<Vec<_>, Malformed>>()?.join(", ")
        }
        policy_type::REQUEST_PRIORITY | policy_type::REPLY_PRIORITY => {
            let (lowest, highest) = range_value(value)?;
            format!("{lowest} to {highest}")
        }
        policy_type::REQUEST_START_TIME
        | policy_type::REQUEST_END_TIME
        | policy_type::REPLY_START_TIME
        | policy_type::REPLY_END_TIME => {
            format!("{} times 100 ns since 15 October 1582", utc_value(value)?)
        }
        policy_type::RELATIVE_REQUEST_TIMEOUT | policy_type::RELATIVE_ROUNDTRIP_TIMEOUT => {
            format!("{} us", time_value(value)? / 10)
        }
        37 => match inside()?.ushort()? {
            0 => "NORMAL".to_owned(),
            1 => "BOTH".to_owned(),
            other => other.to_string(),
        },
        64 => inside()?.boolean()?.to_string(),
        41 | 66 => inside()?.ulong()?.to_string(),
        67 => inside()?.float()?.to_string(),
        _ => return Ok(None),
    }))
}

/// Describes an `RTCORBA::ProtocolList` as TAO writes it: tag, no ORB properties, transport
/// properties.
fn protocols(d: &mut Decoder<'_>) -> Result<String, Malformed> {
    let count = d.length(None, 4)?;
    let mut all = Vec::new();
    for _ in 0..count {
        let tag = d.clone().ulong()?;
        let name = profile_tag::name(tag).map_or_else(|| format!("{tag:#010x}"), str::to_owned);
        match read_protocol(d)? {
            Some(protocol) => all.push(format!("{name}{}", properties(&protocol.transport))),
            None => {
                all.push(format!("{name} and more"));
                break; // nobody knows how long its properties are
            }
        }
    }
    Ok(all.join("; "))
}

fn properties(transport: &ProtocolProperties) -> String {
    match transport {
        ProtocolProperties::None => String::new(),
        ProtocolProperties::Tcp(tcp) => format!(
            ": send buffer {}, receive buffer {}, keep alive {}, don't route {}, no delay {}",
            tcp.send_buffer_size,
            tcp.recv_buffer_size,
            tcp.keep_alive,
            tcp.dont_route,
            tcp.no_delay
        ),
        ProtocolProperties::UnixDomain(unix) => format!(
            ": send buffer {}, receive buffer {}",
            unix.send_buffer_size, unix.recv_buffer_size
        ),
        ProtocolProperties::SharedMemory(memory) => format!(
            ": send buffer {}, receive buffer {}, keep alive {}, don't route {}, no delay {}, preallocate {}, file \
             {:?}, lock {:?}",
            memory.send_buffer_size,
            memory.recv_buffer_size,
            memory.keep_alive,
            memory.dont_route,
            memory.no_delay,
            memory.preallocate_buffer_size,
            memory.mmap_filename,
            memory.mmap_lockname
        ),
    }
}
