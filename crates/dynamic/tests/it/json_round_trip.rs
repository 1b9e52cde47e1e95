//! Text that was written is accepted as input: random types and values are converted to JSON and
//! back.

use oxorb_cdr::{
    Any, ByteOrder, CharSet, Dialect, Dynamic, DynamicValue, Encoder, Label, LongDouble,
    RawProfile, RawReference, Shape, TcKind, TypeCode, ValueModifier, Visibility,
};
use oxorb_dynamic::json::{Json, Plain, from_json};
use proptest::prelude::{ProptestConfig, any, proptest};

/// Choices of the test case, one octet each; 0 when there are no more, so that generation ends.
struct Steps<'s> {
    left: std::slice::Iter<'s, u8>,
    /// Whether the code set is ISO 8859-1, in which octets are characters; else it is UTF-8, in
    /// which only ASCII is. No code set allows both.
    latin: bool,
}

impl Steps<'_> {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.left.next().copied().unwrap_or_default()) % limit
    }

    fn octets<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.below(256) as u8)
    }

    /// Returns text with all characters that JSON, terminals and code sets treat specially.
    fn text(&mut self) -> String {
        let chars = match self.latin {
            true => "aé\"\\\n\u{1b}\u{7f}/$ÿ",
            false => "aé\"\\\n\u{1b}\u{7f}/$€😀\u{feff}",
        };
        let length = self.below(5);
        (0..length).map(|_| self.one_of(chars)).collect()
    }

    fn char(&mut self) -> char {
        match self.latin {
            true => self.one_of("aé\"\n\u{7f}\\ÿ"),
            false => self.one_of("a\"\n\u{7f}\\"),
        }
    }

    fn one_of(&mut self, chars: &str) -> char {
        let at = self.below(chars.chars().count());
        chars.chars().nth(at).unwrap()
    }
}

/// Returns a type of at most this depth. `number` makes repository ids distinct.
fn type_of(steps: &mut Steps<'_>, depth: usize, number: &mut usize) -> TypeCode {
    *number += 1;
    let (id, name) = (format!("IDL:T{number}:1.0"), format!("T{number}"));
    let kinds = if depth == 0 { 21 } else { 30 };
    let mut inner = |steps: &mut Steps<'_>| type_of(steps, depth.saturating_sub(1), number);
    match steps.below(kinds) {
        0 => TypeCode::LONG,
        1 => TypeCode::SHORT,
        2 => TypeCode::USHORT,
        3 => TypeCode::ULONG,
        4 => TypeCode::LONGLONG,
        5 => TypeCode::ULONGLONG,
        6 => TypeCode::FLOAT,
        7 => TypeCode::DOUBLE,
        8 => TypeCode::LONGDOUBLE,
        9 => TypeCode::BOOLEAN,
        10 => TypeCode::OCTET,
        11 => TypeCode::CHAR,
        12 => TypeCode::WCHAR,
        13 => TypeCode::STRING,
        14 => TypeCode::WSTRING,
        15 => TypeCode::bounded_string(40),
        16 => TypeCode::fixed(9, 3),
        17 => TypeCode::enumeration(&id, &name, ["red", "green", "discriminator"]),
        18 => TypeCode::TYPE_CODE,
        19 => TypeCode::interface(&id, &name),
        20 => TypeCode::ANY,
        21 => TypeCode::sequence(inner(steps)),
        22 => TypeCode::array(inner(steps), 2),
        23 => TypeCode::alias(&id, &name, inner(steps)),
        24 | 25 => {
            let [one, other] = [inner(steps), inner(steps)];
            TypeCode::structure(&id, &name, [("one", one), ("$type", other)])
        }
        26 => {
            let of = inner(steps);
            TypeCode::value_box(&id, &name, of)
        }
        27 => {
            let members = [("state", inner(steps), Visibility::Public)];
            TypeCode::value(&id, &name, ValueModifier::None, None, members)
        }
        28 => {
            let members =
                [(Label::Value(0), "no", inner(steps)), (Label::Value(1), "yes", inner(steps))];
            TypeCode::union(&id, &name, TypeCode::BOOLEAN, members)
        }
        _ => {
            let [one, several, other] = [inner(steps), inner(steps), inner(steps)];
            let members = [
                (Label::Value(1), "discriminator", one),
                (Label::Value(2), "several", several.clone()),
                (Label::Value(-3), "several", several),
                (Label::Default, "member", other),
            ];
            TypeCode::union(&id, &name, TypeCode::SHORT, members)
        }
    }
}

/// Returns a value of this type.
fn value_of(ty: &TypeCode, steps: &mut Steps<'_>, depth: usize) -> Dynamic {
    let ty = &ty.resolved();
    let mut value = Dynamic::default_for(ty).unwrap();
    match ty.shape() {
        Shape::Simple(kind) => return simple(kind, value, steps, depth),
        Shape::String { .. } => return Dynamic::String(steps.text()),
        Shape::Wstring { .. } => return Dynamic::Wstring(steps.text()),
        Shape::Fixed { .. } => {
            let digits = i32::from_be_bytes(steps.octets()) % 1_000_000_000;
            let text = format!("{}.{:03}", digits / 1000, (digits % 1000).abs());
            value = from_json(&text.into(), ty, &Plain).unwrap();
        }
        Shape::Enum => {
            let at = steps.below(ty.as_ref().enumerators().len());
            value =
                Dynamic::Enum { name: ty.as_ref().enumerators()[at].clone(), ordinal: at as u32 };
        }
        Shape::Sequence { element, .. } => {
            let (element, length) = (element.to_type_code(), steps.below(4));
            let octets = element.resolved().kind() == TcKind::Octet;
            return match octets {
                true => Dynamic::Octets((0..length).map(|_| steps.below(256) as u8).collect()),
                false => {
                    let elements = (0..length).map(|_| value_of(&element, steps, depth));
                    Dynamic::Sequence(elements.collect())
                }
            };
        }
        Shape::Array { element, .. } => {
            let element = element.to_type_code();
            if let Dynamic::Array(elements) = &mut value {
                for at in elements {
                    *at = value_of(&element, steps, depth);
                }
            }
        }
        Shape::Struct => vary(&mut value, ty, steps, depth),
        Shape::Union { .. } => {
            const LABELS: [i128; 6] = [1, 2, -3, 0, 7, -32_768];
            let boolean = ty.as_ref().members().count() == 2;
            let label = match boolean {
                true => steps.below(2) as i128,
                false => LABELS[steps.below(LABELS.len())],
            };
            value.select(ty, label).unwrap();
            let member = ty.as_ref().select(label).map(|it| it.ty.to_type_code());
            if let (Dynamic::Union(selected), Some(ty)) = (&mut value, member)
                && let Some(field) = &mut selected.member
            {
                field.value = value_of(&ty, steps, depth);
            }
        }
        Shape::Value { .. } | Shape::ValueBox(_) if steps.below(3) > 0 => {
            let mut state = DynamicValue::default_for(ty).unwrap();
            let content = match ty.shape() {
                Shape::ValueBox(content) => content.to_type_code(),
                _ => ty.as_ref().members().next().unwrap().ty.to_type_code(),
            };
            state.fields[0].value = value_of(&content, steps, depth);
            return state.into();
        }
        Shape::Named(_) => {
            // A nil reference may have a type id, but it is read back without one.
            let nil = steps.below(2) == 0;
            let profile =
                RawProfile { tag: steps.below(4) as u32 + 7, data: steps.octets::<5>().to_vec() };
            return Dynamic::Reference(RawReference {
                type_id: format!("IDL:R{}:1.0", steps.below(3)),
                profiles: if nil { Vec::new() } else { vec![profile] },
            });
        }
        _ => {}
    }
    fn simple(kind: TcKind, like: Dynamic, steps: &mut Steps<'_>, depth: usize) -> Dynamic {
        match kind {
            TcKind::Short => Dynamic::Short(i16::from_be_bytes(steps.octets())),
            TcKind::Long => Dynamic::Long(i32::from_be_bytes(steps.octets())),
            TcKind::Ushort => Dynamic::Ushort(u16::from_be_bytes(steps.octets())),
            TcKind::Ulong => Dynamic::Ulong(u32::from_be_bytes(steps.octets())),
            TcKind::Longlong => Dynamic::Longlong(i64::from_be_bytes(steps.octets())),
            TcKind::Ulonglong => Dynamic::Ulonglong(u64::from_be_bytes(steps.octets())),
            TcKind::Float => match f32::from_be_bytes(steps.octets()) {
                number if number.is_nan() => Dynamic::Float(f32::INFINITY),
                number => Dynamic::Float(number),
            },
            TcKind::Double => match f64::from_be_bytes(steps.octets()) {
                number if number.is_nan() => Dynamic::Double(f64::NEG_INFINITY),
                number => Dynamic::Double(number),
            },
            TcKind::Longdouble => {
                let third = LongDouble::from_bits(0x3ffd_5555_5555_5555_5555_5555_5555_5555);
                let bits = third.to_bits() ^ steps.below(256) as u128;
                Dynamic::Longdouble(LongDouble::from_bits(bits))
            }
            TcKind::Boolean => Dynamic::Boolean(steps.below(2) == 1),
            TcKind::Octet => Dynamic::Octet(steps.below(256) as u8),
            TcKind::Char => Dynamic::Char(steps.char()),
            TcKind::Wchar => Dynamic::Wchar(steps.text().chars().next().unwrap_or('w')),
            TcKind::TypeCode => Dynamic::TypeCode(type_of(steps, 1, &mut 900)),
            TcKind::Any => {
                let ty = type_of(steps, depth.saturating_sub(1), &mut (500 + 100 * depth));
                let value = match depth {
                    0 => Dynamic::default_for(&ty).unwrap(),
                    _ => value_of(&ty, steps, depth - 1),
                };
                Any::with_type(ty, value).map_or(like, Dynamic::Any)
            }
            _ => like,
        }
    }
    value
}

fn vary(value: &mut Dynamic, ty: &TypeCode, steps: &mut Steps<'_>, depth: usize) {
    let members: Vec<TypeCode> = ty.as_ref().members().map(|it| it.ty.to_type_code()).collect();
    if let Dynamic::Struct(fields) = value {
        for (field, ty) in fields.iter_mut().zip(&members) {
            field.value = value_of(ty, steps, depth);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_is_accepted_and_printed_again_alike(steps in proptest::collection::vec(any::<u8>(), 0..120)) {
        let latin = steps.first().is_some_and(|step| step % 2 == 0);
        let mut steps = Steps { left: steps.iter(), latin };
        let ty = type_of(&mut steps, 3, &mut 0);
        let value = value_of(&ty, &mut steps, 2);
        let printed = serde_json::to_string(&Json(&value)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let again = from_json(&json, &ty, &Plain);
        let again = again.unwrap_or_else(|error| panic!("{error}: {printed} as {ty}"));
        assert_eq!(serde_json::to_string(&Json(&again)).unwrap(), printed, "{ty}");
        assert_eq!(octets(&again, &ty, latin), octets(&value, &ty, latin), "{printed} as {ty}");
    }
}

/// Returns the encoded value, without the type ids of nil references.
fn octets(value: &Dynamic, ty: &TypeCode, latin: bool) -> Vec<u8> {
    let chars = if latin { CharSet::Iso8859_1 } else { CharSet::Utf8 };
    let dialect = Dialect { chars, ..Dialect::GIOP_1_2 };
    let mut e = Encoder::new(Vec::new(), ByteOrder::Big, dialect);
    let mut value = value.clone();
    plain_nils(&mut value);
    value.encode(ty, &mut e).unwrap();
    e.finish().to_vec()
}

fn plain_nils(value: &mut Dynamic) {
    match value {
        Dynamic::Reference(reference) if reference.profiles.is_empty() => reference.type_id.clear(),
        Dynamic::Any(any) => {
            let mut inner = any.dynamic().unwrap();
            plain_nils(&mut inner);
            *any = Any::with_type(any.type_code().clone(), inner).unwrap();
        }
        _ => {}
    }
    for at in 0..value.component_count() {
        if let Some(part) = value.element_mut(at) {
            plain_nils(part);
        }
    }
}
