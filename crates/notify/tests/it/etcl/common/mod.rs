//! Events for the evaluation of constraints.

use oxorb_cdr::{Any, ByteOrder, Decode, Decoder, Dialect, Dynamic, Encode, Encoder, TypeCode};
use oxorb_notify::etcl::Event;

/// A structured event, which tests assemble from its parts.
#[derive(Default)]
pub(crate) struct Structured {
    pub(crate) domain: &'static str,
    pub(crate) ty: &'static str,
    pub(crate) name: &'static str,
    pub(crate) header: Vec<(&'static str, Any)>,
    pub(crate) body: Vec<(&'static str, Any)>,
    pub(crate) rest: Any,
}

impl Event for Structured {
    fn domain_name(&self) -> &str {
        self.domain
    }

    fn type_name(&self) -> &str {
        self.ty
    }

    fn event_name(&self) -> &str {
        self.name
    }

    fn variable_header(&self, at: usize) -> Option<(&str, &Any)> {
        self.header.get(at).map(|(name, value)| (*name, value))
    }

    fn filterable_data(&self, at: usize) -> Option<(&str, &Any)> {
        self.body.get(at).map(|(name, value)| (*name, value))
    }

    fn remainder_of_body(&self) -> &Any {
        &self.rest
    }
}

pub(crate) fn text(text: &str) -> Any {
    Any::new(text.to_owned())
}

/// Returns the any as a peer with this byte order would send it.
pub(crate) fn received(any: &Any, order: ByteOrder) -> Any {
    let mut encoder = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
    any.encode(&mut encoder).unwrap();
    let octets = encoder.finish().to_vec();
    Any::decode(&mut Decoder::new(&octets, order, Dialect::GIOP_1_2)).unwrap()
}

/// Returns the any in four forms: inserted locally, received in both byte orders, and as a tree.
pub(crate) fn forms(any: &Any) -> [Any; 4] {
    let tree = Any::with_type(any.type_code().clone(), any.dynamic().unwrap()).unwrap();
    [any.clone(), received(any, ByteOrder::Big), received(any, ByteOrder::Little), tree]
}

/// Type of a struct with a member of every kind; see [`sample`]. Reading or skipping the last members allocates memory.
pub(crate) fn sample_type() -> TypeCode {
    let color = TypeCode::enumeration("IDL:Color:1.0", "Color", ["red", "green", "blue"]);
    let pair = TypeCode::structure(
        "IDL:Pair:1.0",
        "Pair",
        [("name", TypeCode::STRING), ("value", TypeCode::ANY)],
    );
    TypeCode::structure(
        "IDL:Sample:1.0",
        "Sample",
        [
            ("flag", TypeCode::BOOLEAN),
            ("small", TypeCode::SHORT),
            ("number", TypeCode::LONG),
            ("large", TypeCode::ULONGLONG),
            ("ratio", TypeCode::DOUBLE),
            ("letter", TypeCode::CHAR),
            ("color", color.clone()),
            ("text", TypeCode::alias("IDL:Name:1.0", "Name", TypeCode::STRING)),
            ("list", TypeCode::sequence(TypeCode::LONG)),
            ("names", TypeCode::sequence(TypeCode::STRING)),
            ("grid", TypeCode::array(TypeCode::array(TypeCode::SHORT, 2), 3)),
            ("octets", TypeCode::sequence(TypeCode::OCTET)),
            ("choice", union_type(&color)),
            ("other", union_type(&color)),
            ("max", TypeCode::LONG),
            ("pairs", TypeCode::sequence(pair)),
            ("inner", TypeCode::ANY),
            ("wide", TypeCode::WSTRING),
        ],
    )
}

fn union_type(color: &TypeCode) -> TypeCode {
    use oxorb_cdr::Label;
    TypeCode::union(
        "IDL:Choice:1.0",
        "Choice",
        color.clone(),
        [
            (Label::Value(0), "warm", TypeCode::LONG),
            (Label::Value(2), "cold", TypeCode::STRING),
            (Label::Default, "else", TypeCode::DOUBLE),
        ],
    )
}

pub(crate) fn sample() -> Any {
    let ty = sample_type();
    let mut value = Dynamic::default_for(&ty).unwrap();
    let mut set = |path: &str, part: Dynamic| {
        *value.at_mut(path).unwrap_or_else(|| panic!("no {path}")) = part;
    };
    set("flag", Dynamic::Boolean(true));
    set("small", Dynamic::Short(-5));
    set("number", Dynamic::Long(42));
    set("large", Dynamic::Ulonglong(u64::MAX));
    set("ratio", Dynamic::Double(3.5));
    set("letter", Dynamic::Char('x'));
    set("wide", Dynamic::Wstring("Köln".to_owned()));
    set("color", Dynamic::Enum { name: "green".into(), ordinal: 1 });
    set("text", Dynamic::String("it's \\ fine".to_owned()));
    set("list", Dynamic::Sequence([3, 5, 8].map(Dynamic::Long).into()));
    set("names", Dynamic::Sequence(["a", "bc"].map(|name| Dynamic::String(name.into())).into()));
    for (at, part) in (0..6).map(|at| (format!("grid[{}][{}]", at / 2, at % 2), at)) {
        set(&at, Dynamic::Short(part));
    }
    set("octets", Dynamic::Octets(vec![7, 8, 9]));
    let pair_type = ty.as_ref().at("pairs[0]").unwrap().to_type_code();
    let pair = |name: &str, content: Any| {
        let mut pair = Dynamic::default_for(&pair_type).unwrap();
        *pair.at_mut("name").unwrap() = Dynamic::String(name.to_owned());
        *pair.at_mut("value").unwrap() = Dynamic::Any(content);
        pair
    };
    let nested = Any::new(vec![1i32, 2]);
    set(
        "pairs",
        Dynamic::Sequence(vec![
            pair("first", Any::new(1i32)),
            pair("second", text("two")),
            pair("third", nested),
        ]),
    );
    set("inner", Dynamic::Any(Any::new_as(TypeCode::ANY, Any::new(7i64)).unwrap()));
    set("max", Dynamic::Long(9));
    let choice = ty.as_ref().at("choice").unwrap().to_type_code();
    value.at_mut("choice").unwrap().select(&choice, 2).unwrap();
    *value.at_mut("choice.cold").unwrap() = Dynamic::String("ice".to_owned());
    value.at_mut("other").unwrap().select(&choice, 1).unwrap();
    *value.at_mut("other.else").unwrap() = Dynamic::Double(0.5);
    Any::with_type(ty, value).unwrap()
}
