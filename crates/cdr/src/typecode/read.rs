use crate::prelude::*;
use alloc::sync::Arc;

use super::build::without_node;
use super::graph::{Case, Facts, Graph, MAX_ALIASES, Member, Name, Node, Slot, UnionNode};
use super::{TypeCode, ValueModifier, Visibility};
use crate::{Decode, Decoder, Dialect, ErrorKind, Result, TcKind, WcharSet};

/// Number in place of a kind, after which the offset to an earlier occurrence of the type follows.
pub(super) const INDIRECTION: u32 = u32::MAX;

impl<'de> Decode<'de> for TypeCode {
    const MIN_SIZE: usize = 4;

    /// Memory and time are proportional to the octets. Types nested more deeply than the limit
    /// `max_depth` are rejected, and so are indirections to anything except the start of a type,
    /// and types that contain themselves.
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let start = d.position();
        let number = d.ulong()?;
        // Fast path for most anys: a simple type consists of its kind alone, so it needs no
        // `Reader`.
        if let Some(kind) = TcKind::from_number(number)
            && let Some(simple) = Self::simple(kind)
        {
            return Ok(simple);
        }
        let mut reader = Reader::default();
        let slot = reader.read_kind(number, d)?;
        let graph = slot.node().map(|_| Arc::new(Graph::new(reader.nodes)));
        let ty = Self { graph, slot };
        if ty.is_complete() { Ok(ty) } else { Err(ErrorKind::BadTypeCode.at(start)) }
    }
}

/// Returns the rules for wide characters in a type code: UTF-16 if none were negotiated, as in any
/// encapsulation.
pub(super) fn character_dialect(dialect: Dialect) -> Dialect {
    match dialect.wchars {
        WcharSet::None => Dialect::GIOP_1_2,
        _ if dialect.giop_minor == 0 => Dialect::GIOP_1_2,
        _ => dialect,
    }
}

/// Estimated memory for a type with parameters and its start position, in octets.
const MEMORY_OF_NODE: usize = size_of::<Node>() + size_of::<Facts>() + size_of::<(usize, Slot)>();

/// Estimated memory for a name, in octets.
const MEMORY_OF_NAME: usize = 32;

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    /// Start positions of types, in ascending order.
    seen: Vec<(usize, Slot)>,
}

impl Reader {
    fn read(&mut self, d: &mut Decoder<'_>) -> Result<Slot> {
        let number = d.ulong()?;
        self.read_kind(number, d)
    }

    /// Reads the rest of a type whose kind, or indirection mark, was read.
    fn read_kind(&mut self, number: u32, d: &mut Decoder<'_>) -> Result<Slot> {
        let start = d.position() - 4; // which may be in another chunk than what was before
        if number == INDIRECTION {
            return self.read_indirection(d);
        }
        let kind = TcKind::from_number(number);
        let kind = kind.ok_or_else(|| d.error_back(4, ErrorKind::BadTypeKind(number)))?;
        if kind.is_simple() {
            self.seen.push((start, Slot::of_kind(kind)));
            return Ok(Slot::of_kind(kind));
        }
        d.charge(1, MEMORY_OF_NODE + 2 * MEMORY_OF_NAME)?;
        // Reserves the slot before the parameters are read, because they may refer back to this
        // type.
        let slot = Slot::of_node(self.nodes.len());
        let seen = self.seen.len();
        self.seen.push((start, slot));
        self.nodes.push(Node::Open(Name::default()));
        let node = match kind {
            TcKind::String | TcKind::Wstring => {
                Node::Text { wide: kind == TcKind::Wstring, bound: d.ulong()? }
            }
            TcKind::Fixed => Node::Fixed { digits: d.ushort()?, scale: d.short()? },
            _ => {
                let mut inside = d.encapsulation()?;
                let node = self.read_parameters(kind, &mut inside)?;
                d.charged_as(&inside);
                node
            }
        };
        let last = slot.node() == Some(self.nodes.len() - 1);
        if last && let Some(simple) = without_node(&node) {
            self.nodes.pop();
            self.seen[seen].1 = simple;
            return Ok(simple);
        }
        if let Some(at) = slot.node() {
            self.nodes[at] = node;
        }
        Ok(slot)
    }

    fn read_indirection(&mut self, d: &mut Decoder<'_>) -> Result<Slot> {
        let offset = d.long()?;
        let here = d.position() - 4;
        let there = isize::try_from(offset).ok().and_then(|offset| here.checked_add_signed(offset));
        let found = there.and_then(|there| {
            let at = self.seen.binary_search_by_key(&there, |&(start, _)| start);
            Some(self.seen[at.ok()?].1)
        });
        found.ok_or_else(|| d.error_back(4, ErrorKind::BadIndirection(offset)))
    }

    /// Reads the parameters of a type from its encapsulation. Octets after them are ignored.
    fn read_parameters(&mut self, kind: TcKind, d: &mut Decoder<'_>) -> Result<Node> {
        Ok(match kind {
            TcKind::Sequence => Node::Sequence { element: self.read(d)?, bound: d.ulong()? },
            TcKind::Array => Node::Array { element: self.read(d)?, length: d.ulong()? },
            _ => {
                let (id, name) = (read_name(d)?, read_name(d)?);
                self.read_definition(kind, id, name, d)?
            }
        })
    }

    fn read_definition(
        &mut self,
        kind: TcKind,
        id: Name,
        name: Name,
        d: &mut Decoder<'_>,
    ) -> Result<Node> {
        Ok(match kind {
            TcKind::Struct | TcKind::Except => {
                let count = d.length(None, 8)?;
                d.charge(count, size_of::<Member>() + MEMORY_OF_NAME)?;
                let mut members = Vec::with_capacity(count);
                for _ in 0..count {
                    members.push(Member {
                        name: read_name(d)?,
                        slot: self.read(d)?,
                        visibility: Visibility::Public,
                    });
                }
                Node::Struct { kind, id, name, members: members.into() }
            }
            TcKind::Union => Node::Union(Box::new(self.read_union(id, name, d)?)),
            TcKind::Enum => {
                let count = d.length(None, 4)?;
                d.charge(count, size_of::<Name>() + MEMORY_OF_NAME)?;
                let mut members = Vec::with_capacity(count);
                for _ in 0..count {
                    members.push(read_name(d)?);
                }
                Node::Enum { id, name, members: members.into() }
            }
            TcKind::Alias | TcKind::ValueBox => {
                Node::Wrapper { kind, id, name, content: self.read(d)? }
            }
            TcKind::Value | TcKind::Event => {
                let modifier = match d.short()? {
                    0 => ValueModifier::None,
                    1 => ValueModifier::Custom,
                    2 => ValueModifier::Abstract,
                    3 => ValueModifier::Truncatable,
                    _ => return Err(d.error_back(2, ErrorKind::BadTypeCode)),
                };
                let base = self.read(d)?;
                let count = d.length(None, 10)?;
                d.charge(count, size_of::<Member>() + MEMORY_OF_NAME)?;
                let mut members = Vec::with_capacity(count);
                for _ in 0..count {
                    members.push(Member {
                        name: read_name(d)?,
                        slot: self.read(d)?,
                        visibility: match d.short()? {
                            0 => Visibility::Private,
                            1 => Visibility::Public,
                            _ => return Err(d.error_back(2, ErrorKind::BadTypeCode)),
                        },
                    });
                }
                Node::Value { kind, id, name, modifier, base, members: members.into() }
            }
            _ => Node::Named { kind, id, name },
        })
    }

    fn read_union(&mut self, id: Name, name: Name, d: &mut Decoder<'_>) -> Result<UnionNode> {
        let discriminator = self.read(d)?;
        let kind = self.resolved_kind(discriminator);
        let default = d.long()?;
        let default_at = d.position() - 4;
        let count = d.length(None, 9)?;
        d.charge(count, size_of::<Case>() + 2 * size_of::<(i128, u32)>() + MEMORY_OF_NAME)?;
        let mut cases = Vec::with_capacity(count);
        for _ in 0..count {
            cases.push(Case {
                label: read_label(kind, d)?,
                name: read_name(d)?,
                slot: self.read(d)?,
            });
        }
        let default = match u32::try_from(default) {
            Err(_) => None,
            Ok(at) if (at as usize) < count => Some(at),
            Ok(_) => return Err(ErrorKind::BadTypeCode.at(default_at)),
        };
        if let Some(default) = default {
            cases[default as usize].label = 0;
        }
        Ok(UnionNode::new(id, name, discriminator, default, cases))
    }

    /// Returns the kind after resolving typedefs; the null kind if it is not known yet.
    fn resolved_kind(&self, mut slot: Slot) -> TcKind {
        for _ in 0..=MAX_ALIASES {
            let Some(at) = slot.node() else {
                return slot.kind().unwrap_or(TcKind::Null);
            };
            match &self.nodes[at] {
                Node::Wrapper { kind: TcKind::Alias, content, .. } => slot = *content,
                node => return node.kind(),
            }
        }
        TcKind::Null
    }
}

/// Reads a name. Its code set is unknown, but identifiers are ASCII; other names are decoded as
/// UTF-8, or else as ISO 8859-1. An invalid length of zero is decoded as an empty name.
fn read_name(d: &mut Decoder<'_>) -> Result<Name> {
    let length = d.length(None, 1)?;
    let Some((&end, text)) = d.octets(length)?.split_last() else {
        return Ok(Name::default());
    };
    if end != 0 || text.contains(&0) {
        return Err(d.error_back(length, ErrorKind::BadString));
    }
    Ok(match core::str::from_utf8(text) {
        Ok(text) => text.into(),
        Err(_) => text.iter().map(|&octet| char::from(octet)).collect::<String>().into(),
    })
}

fn read_label(discriminator: TcKind, d: &mut Decoder<'_>) -> Result<i128> {
    Ok(match discriminator {
        TcKind::Boolean => (d.octet()? != 0).into(),
        TcKind::Octet | TcKind::Char => d.octet()?.into(),
        TcKind::Short => d.short()?.into(),
        TcKind::Ushort => d.ushort()?.into(),
        TcKind::Long => d.long()?.into(),
        TcKind::Ulong | TcKind::Enum => d.ulong()?.into(),
        TcKind::Longlong => d.longlong()?.into(),
        TcKind::Ulonglong => d.ulonglong()?.into(),
        TcKind::Wchar => {
            let dialect = d.dialect();
            d.set_dialect(character_dialect(dialect));
            let character = d.wchar();
            d.set_dialect(dialect);
            u32::from(character?).into()
        }
        _ => return Err(d.error(ErrorKind::BadTypeCode)),
    })
}
