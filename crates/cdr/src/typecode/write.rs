use super::graph::{Case, Node, Slot};
use super::read::{INDIRECTION, character_dialect};
use super::{TypeCode, TypeRef};
use crate::tables::Table;
use crate::{Encode, Encoder, ErrorKind, Result, TcKind};

/// Number of times that a repeated type is written in full, as TAO does, in one type code. After
/// that it is written as an indirection to its first occurrence, as JacORB does; otherwise a few
/// types could expand to very many octets.
const IN_FULL: usize = 1000;

/// Length of the type code in octets after which no type is written in full again, as with [`IN_FULL`], because names
/// alone can make a type very long.
const OCTETS_IN_FULL: usize = 1 << 16;

/// Nesting depth from which no type is written in full again, as with [`IN_FULL`].
const DEEP: usize = 24;

/// Maximum nesting depth of encapsulations that are written: readers would reject deeper ones.
const DEEPEST: usize = 64;

impl Encode for TypeCode {
    /// Fails for a type that is not [complete](TypeCode::is_complete), and for one nested more than 64 deep.
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.as_ref().encode(e)
    }
}

impl TypeRef<'_> {
    /// Writes the type. Allocates if it has more than 8 component types with parameters.
    pub fn encode(self, e: &mut Encoder<'_>) -> Result<()> {
        if self.node().is_none() && self.slot_kind().is_simple() {
            e.ulong(self.slot_kind() as u32);
            return Ok(());
        }
        if !self.is_complete() {
            return Err(e.error(ErrorKind::BadTypeCode));
        }
        Writer { start: e.position(), written: Written::default(), count: 0, depth: 0 }
            .write(self, e)
    }
}

struct Writer {
    /// Position of the start of the type code.
    start: usize,
    written: Written,
    count: usize,
    depth: usize,
}

impl Writer {
    fn write(&mut self, ty: TypeRef<'_>, e: &mut Encoder<'_>) -> Result<()> {
        e.align(4);
        let here = e.position();
        let Some(node) = ty.node() else {
            let kind = ty.slot_kind();
            e.ulong(kind as u32);
            return match kind {
                TcKind::String | TcKind::Wstring => {
                    e.ulong(0);
                    Ok(())
                }
                kind if kind.is_simple() => Ok(()),
                kind => {
                    self.check_depth(e)?;
                    e.encapsulation(|e| {
                        write_names(ty, e);
                        if kind == TcKind::Value {
                            e.short(0);
                            e.ulong(TcKind::Null as u32);
                            e.ulong(0);
                        }
                        Ok(())
                    })
                }
            };
        };
        if let Some((there, open)) = self.written.get(ty.slot)
            && (open && is_returned_to(ty.kind())
                || self.count > IN_FULL
                || self.depth > DEEP
                || here - self.start > OCTETS_IN_FULL)
        {
            let offset = i32::try_from(here + 4 - there);
            let offset = offset.map_err(|_| e.error(ErrorKind::BadTypeCode))?;
            e.ulong(INDIRECTION);
            e.long(-offset);
            return Ok(());
        }
        // The parameters of strings and `fixed` types are in no encapsulation.
        if !matches!(node, Node::Text { .. } | Node::Fixed { .. }) {
            self.check_depth(e)?;
        }
        self.count += 1;
        self.depth += 1;
        self.written.insert(ty.slot, (here, true));
        e.ulong(ty.kind() as u32);
        let written = match node {
            Node::Text { bound, .. } => {
                e.ulong(*bound);
                Ok(())
            }
            Node::Fixed { digits, scale } => {
                e.ushort(*digits);
                e.short(*scale);
                Ok(())
            }
            _ => e.encapsulation(|e| {
                write_names(ty, e);
                self.write_parameters(ty, node, e)
            }),
        };
        self.written.insert(ty.slot, (here, false));
        self.depth -= 1;
        written
    }

    /// Fails if another encapsulation would be nested too deeply.
    fn check_depth(&self, e: &Encoder<'_>) -> Result<()> {
        if self.depth >= DEEPEST {
            return Err(e.error(ErrorKind::TooDeep { limit: DEEPEST as u16 }));
        }
        Ok(())
    }

    fn write_parameters(
        &mut self,
        ty: TypeRef<'_>,
        node: &Node,
        e: &mut Encoder<'_>,
    ) -> Result<()> {
        match node {
            Node::Sequence { element, bound: number } | Node::Array { element, length: number } => {
                self.write(ty.part(*element), e)?;
                e.ulong(*number);
            }
            Node::Wrapper { content, .. } => self.write(ty.part(*content), e)?,
            Node::Struct { members, .. } => {
                e.length(members.len(), None)?;
                for member in members {
                    write_name(&member.name, e);
                    self.write(ty.part(member.slot), e)?;
                }
            }
            Node::Union(union) => {
                let discriminator = ty.part(union.discriminator);
                self.write(discriminator, e)?;
                e.long(union.default.map_or(-1, |at| at as i32));
                e.length(union.cases.len(), None)?;
                let kind = discriminator.resolved().kind();
                for case in &union.cases {
                    write_label(kind, case, e)?;
                    write_name(&case.name, e);
                    self.write(ty.part(case.slot), e)?;
                }
            }
            Node::Enum { members, .. } => {
                e.length(members.len(), None)?;
                members.iter().for_each(|name| write_name(name, e));
            }
            Node::Value { modifier, base, members, .. } => {
                e.short(*modifier as i16);
                self.write(ty.part(*base), e)?;
                e.length(members.len(), None)?;
                for member in members {
                    write_name(&member.name, e);
                    self.write(ty.part(member.slot), e)?;
                    e.short(member.visibility as i16);
                }
            }
            Node::Named { .. } | Node::Open(_) | Node::Text { .. } | Node::Fixed { .. } => {}
        }
        Ok(())
    }
}

/// Number of types that are recorded without an allocation.
const FEW: usize = 8;

/// Position at which each type was written, and whether it is still being written.
#[derive(Default)]
struct Written {
    few: [Option<(Slot, (usize, bool))>; FEW],
    more: Table<Slot, (usize, bool)>,
}

impl Written {
    fn get(&self, slot: Slot) -> Option<(usize, bool)> {
        let mut few = self.few.iter().flatten();
        let found = few.find(|(known, _)| *known == slot);
        let in_more = || self.more.get(&slot).copied();
        found.map(|&(_, place)| place).or_else(in_more)
    }

    fn insert(&mut self, slot: Slot, place: (usize, bool)) {
        for one in &mut self.few {
            match one {
                Some((known, _)) if *known != slot => {}
                one => {
                    *one = Some((slot, place));
                    return;
                }
            }
        }
        self.more.insert(slot, place);
    }
}

/// Reports whether readers accept an indirection to an enclosing type of this kind. JacORB does not
/// for typedefs and types without a name, so these are written again, with indirections to their
/// component types.
fn is_returned_to(kind: TcKind) -> bool {
    !matches!(kind, TcKind::Alias | TcKind::Sequence | TcKind::Array)
}

fn write_names(ty: TypeRef<'_>, e: &mut Encoder<'_>) {
    if let (Some(id), Some(name)) = (ty.id(), ty.name()) {
        write_name(id, e);
        write_name(name, e);
    }
}

/// Writes a name without code set conversion: identifiers are ASCII.
fn write_name(name: &str, e: &mut Encoder<'_>) {
    e.ulong(name.len() as u32 + 1);
    e.copy_octets(name.as_bytes());
    e.octet(0);
}

/// Writes a label as its low bits; the label of the default is a zero of the discriminator type.
fn write_label(discriminator: TcKind, case: &Case, e: &mut Encoder<'_>) -> Result<()> {
    let label = case.label;
    match discriminator {
        TcKind::Boolean | TcKind::Octet | TcKind::Char => e.octet(label as u8),
        TcKind::Short | TcKind::Ushort => e.short(label as i16),
        TcKind::Long | TcKind::Ulong | TcKind::Enum => e.ulong(label as u32),
        TcKind::Longlong | TcKind::Ulonglong => e.longlong(label as i64),
        TcKind::Wchar => {
            let character = char::from_u32(label as u32);
            let character = character.ok_or_else(|| e.error(ErrorKind::BadTypeCode))?;
            let dialect = e.dialect();
            e.set_dialect(character_dialect(dialect));
            let written = e.wchar(character);
            e.set_dialect(dialect);
            written?;
        }
        _ => return Err(e.error(ErrorKind::BadTypeCode)),
    }
    Ok(())
}
