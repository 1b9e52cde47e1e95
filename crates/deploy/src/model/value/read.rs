//! Reading of types and data from elements.

use super::{Basic, Data, Type, holder, resolve};
use crate::described::{Item, clip, plain};
use crate::element::Element;
use crate::finding::Error;

/// IDL kinds that plans do not support.
const REFUSED: &str = "tk_any, tk_TypeCode, tk_Principal, tk_union, tk_except, tk_fixed, tk_value, tk_value_box, \
    tk_native, tk_abstract_interface and tk_opaque are not supported";

/// Element that limits the length of a string, as in AXCIOMA's plans.
const BOUNDED: &str = "boundedString";

pub(in crate::model) fn read_type(element: &Element) -> Result<Type, Error> {
    let kind = element
        .child("kind")
        .ok_or_else(|| Error::at(element.place, format!("<{}> has no <kind>", element.name)))?;
    let text = plain(kind)?.trim();
    let detail = match text {
        "tk_enum" => Some("enum"),
        "tk_struct" => Some("struct"),
        "tk_sequence" => Some("sequence"),
        "tk_array" => Some("array"),
        "tk_alias" => Some("alias"),
        "tk_string" | "tk_wstring" if element.child(BOUNDED).is_some() => Some(BOUNDED),
        _ => None,
    };
    if let Some(other) =
        element.children.iter().find(|child| child.name != "kind" && Some(&*child.name) != detail)
    {
        return Err(Error::at(
            other.place,
            format!("a type of kind {} has no <{}>", clip(text), clip(&other.name)),
        ));
    }
    let Some(detail) = detail else {
        let basic = text.strip_prefix("tk_").and_then(Basic::named);
        return match (basic, text) {
            (Some(basic), _) => Ok(Type::Basic(basic)),
            (None, "tk_null" | "tk_void") => Ok(Type::Null),
            _ => Err(Error::at(
                kind.place,
                format!(
                    "{:?} is not a kind of type that a plan can contain: {REFUSED}",
                    clip(text)
                ),
            )),
        };
    };
    let inner = element.child(detail).ok_or_else(|| {
        Error::at(element.place, format!("a type of kind {text} needs <{detail}>"))
    })?;
    let known: &[&str] = match detail {
        "enum" | "struct" => &["name", "typeId", "member"],
        "sequence" => &["bound", "elementType"],
        "array" => &["length", "elementType"],
        BOUNDED => &["bound"],
        _ => &["name", "typeId", "elementType"],
    };
    if let Some(other) = inner.children.iter().find(|child| !known.contains(&&*child.name)) {
        return Err(Error::at(
            other.place,
            format!("<{detail}> has no <{}>; it may have {}", clip(&other.name), known.join(", ")),
        ));
    }
    let text_of = |name: &str| {
        inner.child(name).map_or(Ok(String::new()), |child| plain(child).map(str::to_owned))
    };
    let element_type = || {
        let found = inner.child("elementType");
        let found = found
            .ok_or_else(|| Error::at(inner.place, format!("<{detail}> has no <elementType>")))?;
        read_type(found).map(Box::new)
    };
    let members = || inner.children.iter().filter(|child| child.name == "member");
    let number = |name: &str| {
        let found = inner
            .child(name)
            .ok_or_else(|| Error::at(inner.place, format!("<{detail}> has no <{name}>")))?;
        match u32::read(found)? {
            0 => Err(Error::at(found.place, format!("<{name}> must be at least 1"))),
            number => Ok(number),
        }
    };
    Ok(match detail {
        "enum" => Type::Enum {
            name: text_of("name")?,
            type_id: text_of("typeId")?,
            members: members().map(String::read).collect::<Result<_, _>>()?,
        },
        "struct" => Type::Struct {
            name: text_of("name")?,
            type_id: text_of("typeId")?,
            members: members().map(read_member).collect::<Result<_, _>>()?,
        },
        "sequence" => Type::Sequence {
            bound: inner.child("bound").map(u32::read).transpose()?,
            element: element_type()?,
        },
        "array" => Type::Array { length: number("length")?, element: element_type()? },
        BOUNDED => Type::Bounded {
            basic: match text {
                "tk_wstring" => Basic::WString,
                _ => Basic::String,
            },
            bound: number("bound")?,
        },
        _ => Type::Alias {
            name: text_of("name")?,
            type_id: text_of("typeId")?,
            element: element_type()?,
        },
    })
}

/// Returns the two parts of a named type or a named value.
fn pair<'e>(element: &'e Element, second: &str) -> Result<(String, &'e Element), Error> {
    match (element.child("name"), element.child(second), element.children.len()) {
        (Some(name), Some(found), 2) => Ok((plain(name)?.to_owned(), found)),
        _ => Err(Error::at(
            element.place,
            format!("a <member> here can have only <name> and <{second}>"),
        )),
    }
}

fn read_member(element: &Element) -> Result<(String, Type), Error> {
    let (name, kind) = pair(element, "type")?;
    Ok((name, read_type(kind)?))
}

pub(super) fn read_data(element: &Element, kind: &Type) -> Result<Data, Error> {
    let kind = resolve(kind);
    let expect = |name: &str| match element.children.iter().find(|child| child.name != name) {
        None => Ok(()),
        Some(other) => Err(Error::at(
            other.place,
            format!("a value of this type contains <{name}>, not <{}>", clip(&other.name)),
        )),
    };
    match kind {
        Type::Null => match element.children.first() {
            None => Ok(Data::Null),
            Some(child) => Err(Error::at(child.place, "a value of kind tk_null must be empty")),
        },
        Type::Basic(_) | Type::Bounded { .. } | Type::Enum { .. } => {
            let name = holder(kind).unwrap_or_default();
            expect(name)?;
            match (element.children.as_slice(), default(kind)) {
                ([one], _) => read_leaf(one, kind),
                ([], Some(default)) if element.text.trim().is_empty() => Ok(default),
                ([], _) => Err(Error::at(element.place, format!("the value has no <{name}>"))),
                ([_, second, ..], _) => Err(Error::at(
                    second.place,
                    format!("the value can have one <{name}>, but this is a second one"),
                )),
            }
        }
        Type::Sequence { element: of, .. } | Type::Array { element: of, .. } => {
            let items: Vec<Data> = match holder(of) {
                Some(name) if element.children.iter().all(|child| child.name != "element") => {
                    expect(name)?;
                    element
                        .children
                        .iter()
                        .map(|child| read_leaf(child, resolve(of)))
                        .collect::<Result<_, _>>()?
                }
                _ => {
                    expect("element")?;
                    element
                        .children
                        .iter()
                        .map(|child| read_data(child, of))
                        .collect::<Result<_, _>>()?
                }
            };
            let many = items.len();
            let wrong = match kind {
                Type::Sequence { bound: Some(bound), .. } if many > *bound as usize => {
                    format!("a sequence of at most {bound} elements has {many}")
                }
                Type::Array { length, .. } if many != *length as usize => {
                    format!("an array of {length} elements has {many}")
                }
                _ => return Ok(Data::Sequence(items)),
            };
            Err(Error::at(element.place, wrong))
        }
        Type::Struct { name, members, .. } => {
            expect("member")?;
            if element.children.len() != members.len() {
                let what = format!(
                    "struct {name} has {} members, but the value has {}",
                    members.len(),
                    element.children.len()
                );
                return Err(Error::at(element.place, what));
            }
            let mut data = Vec::new();
            for (child, (wanted, kind)) in element.children.iter().zip(members) {
                let (name, value) = pair(child, "value")?;
                if name != *wanted {
                    let what = format!("expected member {wanted:?} here, not {:?}", clip(&name));
                    return Err(Error::at(child.place, what));
                }
                data.push(read_data(value, kind)?);
            }
            Ok(Data::Struct(data))
        }
        Type::Alias { .. } => unreachable!("aliases are resolved"),
    }
}

/// Returns the default data of a value, as in CIAO's tools.
fn default(kind: &Type) -> Option<Data> {
    let basic = match kind {
        Type::Basic(basic) | Type::Bounded { basic, .. } => basic,
        _ => return None,
    };
    Some(match basic {
        Basic::Short
        | Basic::Long
        | Basic::LongLong
        | Basic::UShort
        | Basic::ULong
        | Basic::Octet => Data::Integer(0),
        Basic::ULongLong => Data::Unsigned(0),
        Basic::Float => Data::Float(0.0),
        Basic::Double => Data::Double(0.0),
        Basic::LongDouble => Data::Text("0".to_owned()),
        Basic::Boolean => Data::Boolean(false),
        Basic::String | Basic::WString => Data::Text(String::new()),
        Basic::Char | Basic::WChar | Basic::Objref => return None,
    })
}

fn read_leaf(element: &Element, kind: &Type) -> Result<Data, Error> {
    let whole = |least: i64, most: i64| {
        let text = plain(element)?.trim();
        let name = &element.name;
        let what = match text.parse::<i64>() {
            Ok(number) if (least..=most).contains(&number) => return Ok(Data::Integer(number)),
            Ok(number) => format!("{number} is not a <{name}>; expected {least} to {most}"),
            Err(_) => {
                format!("<{name}> must be an integer from {least} to {most}, not {:?}", clip(text))
            }
        };
        Err(Error::at(element.place, what))
    };
    let text = plain(element)?;
    let basic = match kind {
        Type::Enum { name, members, .. } => {
            let text = text.trim();
            return match members.iter().any(|member| member == text) {
                true => Ok(Data::Enum(text.to_owned())),
                false => {
                    Err(Error::at(element.place, format!("enum {name} has no {:?}", clip(text))))
                }
            };
        }
        Type::Bounded { bound, .. } if text.chars().count() > *bound as usize => {
            let what = format!(
                "<{}> has {} characters, but the limit is {bound}",
                element.name,
                text.chars().count()
            );
            return Err(Error::at(element.place, what));
        }
        Type::Basic(basic) | Type::Bounded { basic, .. } => *basic,
        _ => unreachable!("leaves are basic types and enumerations"),
    };
    match basic {
        Basic::Short => whole(i16::MIN.into(), i16::MAX.into()),
        Basic::Long => whole(i32::MIN.into(), i32::MAX.into()),
        Basic::LongLong => whole(i64::MIN, i64::MAX),
        Basic::UShort => whole(0, u16::MAX.into()),
        Basic::ULong => whole(0, u32::MAX.into()),
        Basic::Octet => whole(0, u8::MAX.into()),
        Basic::ULongLong => u64::read(element).map(Data::Unsigned),
        Basic::Float => number(element).map(Data::Float),
        Basic::Double => number(element).map(Data::Double),
        Basic::LongDouble => number::<f64>(element).map(|_| Data::Text(text.trim().to_owned())),
        Basic::Boolean => bool::read(element).map(Data::Boolean),
        Basic::Char | Basic::WChar => match text.chars().count() {
            1 => Ok(Data::Text(text.to_owned())),
            many => Err(Error::at(
                element.place,
                format!("<{}> must be one character, but this has {many}", element.name),
            )),
        },
        Basic::String | Basic::WString => Ok(Data::Text(text.to_owned())),
        Basic::Objref => Ok(Data::Text(text.trim().to_owned())),
    }
}

fn number<T: std::str::FromStr>(element: &Element) -> Result<T, Error> {
    let text = plain(element)?.trim();
    text.parse().map_err(|_| Error::at(element.place, format!("{:?} is not a number", clip(text))))
}
