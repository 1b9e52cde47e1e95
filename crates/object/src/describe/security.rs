//! Explanation of security mechanisms in references (CSIv2).

use crate::prelude::*;
use oxorb_cdr::{Decoder, Dialect, Printable};

use super::{ExplainedField, association_options, to_hex};
use crate::components::tag;
use crate::{Malformed, ior::text};

/// Explains a TAG_CSI_SEC_MECH_LIST component: a `CSIIOP::CompoundSecMechList`, preferred mechanism
/// first.
pub(super) fn fields(data: &[u8]) -> Result<Vec<ExplainedField>, Malformed> {
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let stateful = d.boolean()?;
    let mut fields = vec![ExplainedField {
        label: "stateful",
        value: if stateful { "yes" } else { "no" }.to_owned(),
    }];
    let count = d.length(None, MIN_MECHANISM)?;
    for number in 1..=count {
        mechanism(&mut d, number, &mut fields)?;
    }
    Ok(fields)
}

/// Minimum size of a mechanism, in octets.
const MIN_MECHANISM: usize = 38;

fn mechanism(
    d: &mut Decoder<'_>,
    number: usize,
    fields: &mut Vec<ExplainedField>,
) -> Result<(), Malformed> {
    let mut field = |label, value| fields.push(ExplainedField { label, value });
    let requires = d.ushort()?;
    field("mechanism", format!("{number}, requires {}", association_options(requires)));
    let transport = d.ulong()?;
    let length = d.length(None, 1)?;
    field("transport", layer(transport, d.octets(length)?)?);

    let [supports, requires] = [d.ushort()?, d.ushort()?];
    let mechanism = octets(d)?;
    let target = octets(d)?;
    if supports | requires != 0 || !mechanism.is_empty() {
        let name = match mechanism {
            GSSUP => "GSSUP (name and password)".to_owned(),
            other => format!("mechanism {}", to_hex(other)),
        };
        let target = match target {
            [] => String::new(),
            target => format!(" for {}", exported_name(target)),
        };
        let (supports, requires) = (association_options(supports), association_options(requires));
        field(
            "authentication",
            format!("{name}{target}, supports {supports}, requires {requires}"),
        );
    }

    let [supports, requires] = [d.ushort()?, d.ushort()?];
    let authorities = d.length(None, 8)?;
    for _ in 0..authorities {
        d.ulong()?;
        octets(d)?;
    }
    let naming = d.length(None, 4)?;
    for _ in 0..naming {
        octets(d)?;
    }
    let identities = d.ulong()?;
    if supports | requires != 0 || identities != 0 {
        let (supports, requires) = (association_options(supports), association_options(requires));
        field(
            "attributes",
            format!(
                "supports {supports}, requires {requires}, identities {}",
                identity_types(identities)
            ),
        );
    }
    Ok(())
}

/// Describes the transport of a mechanism's messages.
fn layer(kind: u32, data: &[u8]) -> Result<String, Malformed> {
    if kind != TLS {
        return Ok(match kind {
            NULL => "none".to_owned(),
            _ => format!("{} {}", tag::name(kind).unwrap_or("unknown"), to_hex(data)),
        });
    }
    let mut d = Decoder::encapsulated(data, Dialect::GIOP_1_2)?;
    let [supports, requires] = [d.ushort()?, d.ushort()?].map(association_options);
    let count = d.length(None, 8)?;
    let mut addresses = Vec::new();
    for _ in 0..count {
        let host = text(&mut d)?;
        addresses.push(format!("{}:{}", Printable(&host), d.ushort()?));
    }
    Ok(format!("TLS at {}, supports {supports}, requires {requires}", addresses.join(", ")))
}

/// TAG_NULL_TAG.
const NULL: u32 = 34;
/// TAG_TLS_SEC_TRANS.
const TLS: u32 = 36;

/// Object identifier of GSSUP, 2.23.130.1.1.1, in DER.
const GSSUP: &[u8] = &[0x06, 0x06, 0x67, 0x81, 0x02, 0x01, 0x01, 0x01];

fn octets<'d>(d: &mut Decoder<'d>) -> Result<&'d [u8], Malformed> {
    let length = d.length(None, 1)?;
    Ok(d.octets(length)?)
}

/// Returns the name in a GSS exported name (RFC 2743, 3.2): 04 01, length and octets of an object
/// identifier, length and octets of the name.
fn exported_name(octets: &[u8]) -> String {
    let name = || {
        let (start, rest) = octets.split_first_chunk::<4>()?;
        let oid = usize::from(u16::from_be_bytes([start[2], start[3]]));
        let (length, name) = rest.get(oid..)?.split_first_chunk()?;
        let whole = start[..2] == [4, 1] && u32::from_be_bytes(*length) as usize == name.len();
        whole.then(|| name.escape_ascii().to_string())
    };
    name().unwrap_or_else(|| to_hex(octets))
}

fn identity_types(bits: u32) -> String {
    const NAMES: [(u32, &str); 4] =
        [(1, "anonymous"), (2, "principal name"), (4, "X.509 chain"), (8, "distinguished name")];
    let mut all: Vec<_> = NAMES
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    match bits & !15 {
        0 if all.is_empty() => all.push("absent".to_owned()),
        0 => {}
        other => all.push(format!("{other:#x}")),
    }
    all.join(", ")
}
