//! Types with values, generated from octets, to state properties of all of them.
#![allow(dead_code, reason = "tests of other crates use their part")]

use oxorb_cdr::{
    Any, ByteOrder, CharSet, Decimal, Decoder, Dialect, Dynamic, DynamicValue, Encoder, Field,
    Label, LongDouble, RawProfile, RawReference, Selected, Shape, TcKind, TypeCode, TypeRef,
    ValueKey, ValueModifier, Visibility, WcharSet,
};
use proptest::collection::vec;
use proptest::prelude::*;

pub(crate) const EVERYTHING: Dialect =
    Dialect { giop_minor: 2, chars: CharSet::Utf8, wchars: WcharSet::Utf16 };

/// Maximum nesting depth of types.
const TOP: usize = 4;

/// Source of choices; once the octets are used up, always the simplest choice.
pub(crate) struct Choices {
    octets: std::vec::IntoIter<u8>,
    /// Number of struct and union names so far, so that no two types have the same id.
    names: usize,
    /// Number of sequences and values around the current value.
    depth: usize,
    /// Values created since the start of the any, or that enclose the current one.
    made: Vec<(ValueKey, TypeCode)>,
}

/// Maximum nesting depth of sequences and values.
const DEEPEST: usize = 20;

/// Returns octets from which a type and a value are generated.
pub(crate) fn choices() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

pub(crate) fn order() -> impl Strategy<Value = ByteOrder> {
    prop_oneof![Just(ByteOrder::Big), Just(ByteOrder::Little)]
}

impl Choices {
    pub(crate) fn new(octets: Vec<u8>) -> Self {
        Self { octets: octets.into_iter(), names: 0, depth: 0, made: Vec::new() }
    }

    fn octet(&mut self) -> u8 {
        self.octets.next().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.octet()) % bound
    }

    fn bits<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.octet())
    }

    fn names(&mut self) -> (String, String) {
        self.names += 1;
        let name = format!("T{}", self.names);
        (format!("IDL:{name}:1.0"), name)
    }

    fn text(&mut self) -> String {
        let all = ['a', 'B', ' ', 'é', '中', '😀'];
        (0..self.below(6)).map(|_| all[self.below(all.len())]).collect()
    }

    /// Returns a type that can have values.
    pub(crate) fn top_type(&mut self) -> TypeCode {
        self.ty(TOP)
    }

    /// Returns a type that can have values, nested at most `depth` deep.
    fn ty(&mut self, depth: usize) -> TypeCode {
        const LEAVES: usize = 29;
        let choice = self.below(if depth == 0 { LEAVES } else { 45 });
        match choice {
            0 => TypeCode::LONG,
            1 => TypeCode::SHORT,
            2 => TypeCode::USHORT,
            3 => TypeCode::ULONG,
            4 => TypeCode::FLOAT,
            5 => TypeCode::DOUBLE,
            6 => TypeCode::BOOLEAN,
            7 => TypeCode::CHAR,
            8 => TypeCode::OCTET,
            9 => TypeCode::ANY,
            10 => TypeCode::TYPE_CODE,
            11 => TypeCode::PRINCIPAL,
            12 => TypeCode::OBJECT,
            13 => TypeCode::STRING,
            14 => TypeCode::LONGLONG,
            15 => TypeCode::ULONGLONG,
            16 => TypeCode::LONGDOUBLE,
            17 => TypeCode::WCHAR,
            18 => TypeCode::WSTRING,
            19 => TypeCode::bounded_string(9),
            20 => TypeCode::bounded_wstring(9),
            21 => {
                let digits = 1 + self.below(31);
                TypeCode::fixed(digits as u16, self.below(digits + 1) as i16)
            }
            22 => {
                let (id, name) = self.names();
                let members = ["red", "green", "blue"];
                TypeCode::enumeration(&id, &name, members[..1 + self.below(3)].iter().copied())
            }
            23 => self.named(TypeCode::interface),
            24 => self.named(TypeCode::component),
            25 => self.named(TypeCode::home),
            26 => self.named(TypeCode::abstract_interface),
            27 => TypeCode::NULL,
            28 => {
                let (id, name) = self.names();
                let members = [("m", TypeCode::LONG, Visibility::Private)];
                match self.below(4) {
                    0 => TypeCode::VALUE_BASE,
                    1 => TypeCode::value(&id, &name, ValueModifier::Custom, None, members),
                    2 => TypeCode::event(
                        &id,
                        &name,
                        ValueModifier::None,
                        TypeCode::VALUE_BASE,
                        members,
                    ),
                    _ => TypeCode::value_box(&id, &name, TypeCode::STRING),
                }
            }
            29..32 => {
                let bound = [0, 0, 4][self.below(3)];
                TypeCode::bounded_sequence(self.ty(depth - 1), bound)
            }
            32 | 33 => {
                let length = self.below(4) as u32;
                TypeCode::array(self.ty(depth - 1), length)
            }
            34 => {
                let (id, name) = self.names();
                TypeCode::alias(&id, &name, self.ty(depth - 1))
            }
            35 => {
                let (id, name) = self.names();
                let branches = TypeCode::sequence(TypeCode::recursive(&id));
                let leaf = self.ty(depth - 1);
                TypeCode::structure(&id, &name, [("leaf", leaf), ("branches", branches)])
            }
            36 | 37 => self.union(depth),
            42 => self.named(|id, name| {
                TypeCode::value_box(id, name, TypeCode::sequence(TypeCode::SHORT))
            }),
            43 | 44 => self.valuetype(depth),
            // Only the outermost type may be an exception, because IDL allows none within another
            // type.
            38 if depth == TOP => {
                let (id, name, members) = self.members(depth);
                let members = members.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
                TypeCode::exception(&id, &name, members)
            }
            _ => {
                let (id, name, members) = self.members(depth);
                let members = members.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
                TypeCode::structure(&id, &name, members)
            }
        }
    }

    fn named(&mut self, make: fn(&str, &str) -> TypeCode) -> TypeCode {
        let (id, name) = self.names();
        make(&id, &name)
    }

    fn members(&mut self, depth: usize) -> (String, String, Vec<(String, TypeCode)>) {
        let (id, name) = self.names();
        let members = (0..self.below(5)).map(|at| (format!("m{at}"), self.ty(depth - 1)));
        (id, name, members.collect())
    }

    /// Returns a valuetype that refers to itself, possibly with a base.
    fn valuetype(&mut self, depth: usize) -> TypeCode {
        let modifier = [ValueModifier::None, ValueModifier::Truncatable][self.below(2)];
        let base = match self.below(2) {
            1 if depth > 1 => Some(self.valuetype(depth - 1)),
            _ => None,
        };
        let modifier = base.as_ref().map_or(ValueModifier::None, |_| modifier);
        let (id, name, members) = self.members(depth);
        let members = members.iter().map(|(name, ty)| (name.as_str(), ty.clone()));
        let next = [("next", TypeCode::recursive(&id)), ("any", TypeCode::VALUE_BASE)];
        let members = members.chain(next);
        let members = members.map(|(name, ty)| (name, ty, Visibility::Public));
        TypeCode::value(&id, &name, modifier, base, members)
    }

    fn union(&mut self, depth: usize) -> TypeCode {
        let discriminator = [
            TypeCode::LONG,
            TypeCode::SHORT,
            TypeCode::USHORT,
            TypeCode::ULONG,
            TypeCode::BOOLEAN,
            TypeCode::CHAR,
            TypeCode::OCTET,
            TypeCode::LONGLONG,
            TypeCode::ULONGLONG,
            TypeCode::WCHAR,
            TypeCode::enumeration("IDL:D:1.0", "D", ["x", "y", "z"]),
            TypeCode::alias("IDL:A:1.0", "A", TypeCode::LONG),
        ][self.below(12)]
        .clone();
        let (id, name) = self.names();
        let mut members = vec![(Label::Value(1), "one".to_owned(), self.ty(depth - 1))];
        if self.below(2) == 1 {
            members.push((Label::Value(0), "zero".to_owned(), self.ty(depth - 1)));
        }
        if self.below(2) == 1 {
            members.push((Label::Default, "other".to_owned(), self.ty(depth - 1)));
        }
        let members = members.iter().map(|(label, name, ty)| (*label, name.as_str(), ty.clone()));
        TypeCode::union(&id, &name, discriminator, members)
    }

    /// Returns a value of the type that GIOP 1.2 with [`EVERYTHING`] can encode.
    pub(crate) fn value(&mut self, ty: TypeRef<'_>) -> Dynamic {
        match ty.shape() {
            Shape::Simple(kind) => self.simple(kind),
            Shape::String { .. } => Dynamic::String(self.text()),
            Shape::Wstring { .. } => Dynamic::Wstring(self.text()),
            Shape::Fixed { digits, scale } => {
                let all = i128::from_le_bytes(self.bits());
                let unscaled = all % 10i128.pow(digits.into());
                Dynamic::Fixed(Decimal::new(unscaled, scale as u8).expect("of its digits"))
            }
            Shape::Sequence { element, .. } => {
                let length = self.below(4) * usize::from(self.depth < DEEPEST);
                self.depth += 1;
                let value = match element.resolved().kind() {
                    TcKind::Octet => Dynamic::Octets((0..length).map(|_| self.octet()).collect()),
                    _ => Dynamic::Sequence((0..length).map(|_| self.value(element)).collect()),
                };
                self.depth -= 1;
                value
            }
            Shape::Array { element, length } => match element.resolved().kind() {
                TcKind::Octet => Dynamic::Octets((0..length).map(|_| self.octet()).collect()),
                _ => Dynamic::Array((0..length).map(|_| self.value(element)).collect()),
            },
            Shape::Alias(content) => self.value(content),
            Shape::Struct | Shape::Except => {
                let fields = ty.members().map(|member| Field {
                    name: member.name.clone(),
                    value: self.value(member.ty),
                });
                Dynamic::Struct(fields.collect())
            }
            Shape::Union { discriminator, .. } => {
                let discriminator = match (discriminator.resolved().kind(), self.below(3)) {
                    (TcKind::Enum, at) => Dynamic::Enum {
                        name: discriminator.enumerators()[at].clone(),
                        ordinal: at as u32,
                    },
                    (TcKind::Boolean, at) => Dynamic::Boolean(at == 1),
                    (TcKind::Char, at) => Dynamic::Char(char::from(at as u8)),
                    (TcKind::Wchar, at) => Dynamic::Wchar(char::from(at as u8)),
                    (TcKind::Octet, at) => Dynamic::Octet(at as u8),
                    (TcKind::Short, at) => Dynamic::Short(-(at as i16)),
                    (TcKind::Ushort, at) => Dynamic::Ushort(at as u16),
                    (TcKind::Long, at) => Dynamic::Long(at as i32),
                    (TcKind::Ulong, at) => Dynamic::Ulong(at as u32),
                    (TcKind::Longlong, at) => Dynamic::Longlong(-(at as i64)),
                    (_, at) => Dynamic::Ulonglong(at as u64),
                };
                let label = discriminator.label().expect("a discriminant");
                let member = ty.select(label).map(|member| Field {
                    name: member.name.clone(),
                    value: self.value(member.ty),
                });
                Dynamic::Union(Box::new(Selected {
                    discriminator,
                    member,
                    named: ty.is_named(label),
                }))
            }
            Shape::Enum => {
                let at = self.below(ty.enumerators().len());
                Dynamic::Enum { name: ty.enumerators()[at].clone(), ordinal: at as u32 }
            }
            Shape::Named(_) => Dynamic::Reference(RawReference {
                type_id: "IDL:X:1.0".to_owned(),
                profiles: (0..self.below(3))
                    .map(|tag| RawProfile { tag: tag as u32, data: self.bits::<3>().to_vec() })
                    .collect(),
            }),
            Shape::ValueBox(_) | Shape::Value { .. } => self.value_of(ty),
            Shape::Open => unreachable!("types are complete"),
        }
    }

    /// Returns null, a new value, or an earlier one.
    fn value_of(&mut self, ty: TypeRef<'_>) -> Dynamic {
        let is_base = ty.id() == TypeCode::VALUE_BASE.id();
        let fits = |(_, made): &&(ValueKey, TypeCode)| is_base || made.id() == ty.id();
        let made: Vec<_> = self.made.iter().filter(fits).cloned().collect();
        match self.octet() {
            choice @ 0..96 if !made.is_empty() => {
                let key = made[usize::from(choice) % made.len()].0.clone();
                return Dynamic::Indirection(key);
            }
            96.. if self.depth < DEEPEST && !is_base => {}
            _ => return Dynamic::Null,
        }
        let custom = matches!(ty.shape(), Shape::Value { modifier: ValueModifier::Custom, .. });
        if custom {
            return Dynamic::Null;
        }
        let whole = ty.to_type_code();
        let mut value = DynamicValue::new(whole.clone(), Vec::new());
        self.made.push((value.key.clone(), whole));
        self.depth += 1;
        value.fields = match ty.shape() {
            Shape::ValueBox(content) => {
                vec![Field { name: "value".into(), value: self.value(content) }]
            }
            _ => {
                let members = ty.state_members();
                let fields = members.iter().map(|member| Field {
                    name: member.name.clone(),
                    value: self.value(member.ty),
                });
                fields.collect()
            }
        };
        self.depth -= 1;
        value.into()
    }

    fn simple(&mut self, kind: TcKind) -> Dynamic {
        match kind {
            TcKind::Short => Dynamic::Short(i16::from_le_bytes(self.bits())),
            TcKind::Long => Dynamic::Long(i32::from_le_bytes(self.bits())),
            TcKind::Ushort => Dynamic::Ushort(u16::from_le_bytes(self.bits())),
            TcKind::Ulong => Dynamic::Ulong(u32::from_le_bytes(self.bits())),
            TcKind::Float => Dynamic::Float(f32::from(i16::from_le_bytes(self.bits()))),
            TcKind::Double => Dynamic::Double(f64::from(i16::from_le_bytes(self.bits()))),
            TcKind::Boolean => Dynamic::Boolean(self.below(2) == 1),
            TcKind::Char => Dynamic::Char(char::from(self.octet() & 0x7F)),
            TcKind::Octet => Dynamic::Octet(self.octet()),
            TcKind::Any => {
                let ty = self.ty(1);
                let around = std::mem::take(&mut self.made);
                let value = self.value(ty.as_ref());
                self.made = around;
                Dynamic::Any(Any::with_type(ty, value).expect("a value of its type"))
            }
            TcKind::TypeCode => Dynamic::TypeCode(self.ty(2)),
            TcKind::Principal => Dynamic::Principal(self.bits::<2>().to_vec()),
            TcKind::Longlong => Dynamic::Longlong(i64::from_le_bytes(self.bits())),
            TcKind::Ulonglong => Dynamic::Ulonglong(u64::from_le_bytes(self.bits())),
            TcKind::Longdouble => {
                Dynamic::Longdouble(LongDouble::from_bits(u128::from_le_bytes(self.bits())))
            }
            TcKind::Wchar => Dynamic::Wchar(['w', 'é', '中', '😀'][self.below(4)]),
            _ => Dynamic::Null,
        }
    }
}

/// Returns the output of `f` after `lead` other octets.
pub(crate) fn written(order: ByteOrder, lead: usize, f: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut encoder = Encoder::new(vec![0xEE; 64], order, EVERYTHING);
    encoder.copy_octets(&[0xAA; 9][..lead]);
    f(&mut encoder);
    encoder.finish().to_vec()
}

pub(crate) fn reader(message: &[u8], order: ByteOrder, lead: usize) -> Decoder<'_> {
    Decoder::new(message, order, EVERYTHING).at(lead)
}
