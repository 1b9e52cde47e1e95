//! Conversion of values of properties to and from anys.

use std::sync::Arc;

use oxorb_cdr::{Any, Dynamic, Field, LongDouble, Shape, TcKind, TypeCode};
use oxorb_deploy::value::{self, Basic, Data, Type};

/// Type of references. In plans they are text, and may be URLs. In anys they are therefore strings with this alias.
const REFERENCE: (&str, &str) = ("IDL:oxorb.org/OxDeployment/ReferenceText:1.0", "ReferenceText");

/// Maximum depth of the types of properties, the same as in documents.
const MOST_DEPTH: usize = 48;

/// Converts the value of a property to an any.
///
/// # Errors
/// Data that does not match its type. A document that was read does not contain such data.
pub fn to_any(value: &value::Any) -> Result<Any, String> {
    let ty = type_code(&value.kind);
    let data = dynamic(&value.kind, &value.data)?;
    Any::with_type(ty, data).map_err(|error| error.to_string())
}

/// Converts an any to the value of a property.
///
/// # Errors
/// Types that plans do not support, such as unions, valuetypes and `any`.
pub fn from_any(any: &Any) -> Result<value::Any, String> {
    let kind = plan_type(any.type_code(), 0)?;
    let tree = any.dynamic().map_err(|error| error.to_string())?;
    Ok(value::Any { data: data(&kind, &tree)?, kind, ..value::Any::default() })
}

/// Returns the type code of a type.
pub(super) fn type_code(kind: &Type) -> TypeCode {
    match kind {
        Type::Null => TypeCode::NULL,
        Type::Basic(basic) => match basic {
            Basic::Short => TypeCode::SHORT,
            Basic::Long => TypeCode::LONG,
            Basic::LongLong => TypeCode::LONGLONG,
            Basic::UShort => TypeCode::USHORT,
            Basic::ULong => TypeCode::ULONG,
            Basic::ULongLong => TypeCode::ULONGLONG,
            Basic::Float => TypeCode::FLOAT,
            Basic::Double => TypeCode::DOUBLE,
            Basic::LongDouble => TypeCode::LONGDOUBLE,
            Basic::Boolean => TypeCode::BOOLEAN,
            Basic::Octet => TypeCode::OCTET,
            Basic::Char => TypeCode::CHAR,
            Basic::WChar => TypeCode::WCHAR,
            Basic::String => TypeCode::STRING,
            Basic::WString => TypeCode::WSTRING,
            Basic::Objref => TypeCode::alias(REFERENCE.0, REFERENCE.1, TypeCode::STRING),
        },
        Type::Bounded { basic, bound } => match basic {
            Basic::WString => TypeCode::bounded_wstring(*bound),
            _ => TypeCode::bounded_string(*bound),
        },
        Type::Enum { name, type_id, members } => {
            TypeCode::enumeration(type_id, name, members.iter().map(String::as_str))
        }
        Type::Struct { name, type_id, members } => {
            let members = members.iter();
            let members = members.map(|(name, kind)| (name.as_str(), type_code(kind)));
            TypeCode::structure(type_id, name, members)
        }
        Type::Sequence { bound: None, element } => TypeCode::sequence(type_code(element)),
        Type::Sequence { bound: Some(bound), element } => {
            TypeCode::bounded_sequence(type_code(element), *bound)
        }
        Type::Array { length, element } => TypeCode::array(type_code(element), *length),
        Type::Alias { name, type_id, element } => {
            TypeCode::alias(type_id, name, type_code(element))
        }
    }
}

/// Converts data of a type to a dynamic value.
///
/// # Errors
/// Data that does not match the type.
pub(crate) fn dynamic(kind: &Type, data: &Data) -> Result<Dynamic, String> {
    let unfit = || format!("{data:?} is no data of {kind:?}");
    let narrow = |number: &i64| -> Result<Dynamic, String> {
        let Type::Basic(basic) = kind else {
            return Err(unfit());
        };
        let number = *number;
        let fitting = match basic {
            Basic::Short => number.try_into().ok().map(Dynamic::Short),
            Basic::Long => number.try_into().ok().map(Dynamic::Long),
            Basic::LongLong => Some(Dynamic::Longlong(number)),
            Basic::UShort => number.try_into().ok().map(Dynamic::Ushort),
            Basic::ULong => number.try_into().ok().map(Dynamic::Ulong),
            Basic::ULongLong => number.try_into().ok().map(Dynamic::Ulonglong),
            Basic::Octet => number.try_into().ok().map(Dynamic::Octet),
            _ => None,
        };
        fitting.ok_or_else(unfit)
    };
    let character = |text: &str| -> Result<char, String> {
        let mut characters = text.chars();
        match (characters.next(), characters.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(unfit()),
        }
    };
    Ok(match (kind, data) {
        (Type::Null, Data::Null) => Dynamic::Null,
        (Type::Basic(_), Data::Integer(number)) => narrow(number)?,
        (Type::Basic(Basic::ULongLong), Data::Unsigned(number)) => Dynamic::Ulonglong(*number),
        (Type::Basic(Basic::Float), Data::Float(number)) => Dynamic::Float(*number),
        (Type::Basic(Basic::Double), Data::Double(number)) => Dynamic::Double(*number),
        (Type::Basic(Basic::Boolean), Data::Boolean(value)) => Dynamic::Boolean(*value),
        (Type::Basic(basic), Data::Text(text)) => match basic {
            Basic::LongDouble => {
                let number: f64 = text.trim().parse().map_err(|_| unfit())?;
                Dynamic::Longdouble(LongDouble::from(number))
            }
            Basic::Char => Dynamic::Char(character(text)?),
            Basic::WChar => Dynamic::Wchar(character(text)?),
            Basic::String | Basic::Objref => Dynamic::String(text.clone()),
            Basic::WString => Dynamic::Wstring(text.clone()),
            _ => return Err(unfit()),
        },
        (Type::Bounded { basic, .. }, Data::Text(text)) => match basic {
            Basic::WString => Dynamic::Wstring(text.clone()),
            _ => Dynamic::String(text.clone()),
        },
        (Type::Enum { members, .. }, Data::Enum(name)) => {
            let at = members.iter().position(|member| member == name);
            Dynamic::Enum {
                name: Arc::from(name.as_str()),
                ordinal: at.and_then(|at| at.try_into().ok()).ok_or_else(unfit)?,
            }
        }
        (Type::Struct { members, .. }, Data::Struct(values)) if members.len() == values.len() => {
            let fields = members.iter().zip(values).map(|((name, kind), data)| {
                let value = dynamic(kind, data)?;
                let name = Arc::from(name.as_str());
                Ok(Field { name, value })
            });
            Dynamic::Struct(fields.collect::<Result<_, String>>()?)
        }
        (Type::Sequence { element, .. }, Data::Sequence(items)) => {
            sequence(element, items, Dynamic::Sequence)?
        }
        (Type::Array { length, element }, Data::Sequence(items))
            if items.len() == *length as usize =>
        {
            sequence(element, items, Dynamic::Array)?
        }
        (Type::Alias { element, .. }, data) => dynamic(element, data)?,
        _ => return Err(unfit()),
    })
}

/// Returns the elements as a sequence or an array. Sequences of octets have a special representation.
fn sequence(
    element: &Type,
    items: &[Data],
    make: fn(Vec<Dynamic>) -> Dynamic,
) -> Result<Dynamic, String> {
    let items = items.iter().map(|item| dynamic(element, item));
    let items = items.collect::<Result<Vec<_>, _>>()?;
    if type_code(element).resolved().kind() != TcKind::Octet {
        return Ok(make(items));
    }
    let octets = items.iter().map(|item| match item {
        Dynamic::Octet(octet) => Ok(*octet),
        other => Err(format!("{other:?} is no octet")),
    });
    Ok(Dynamic::Octets(octets.collect::<Result<_, _>>()?))
}

/// Converts a type code to a type. The limit of the depth also rejects recursive types.
pub(super) fn plan_type(ty: &TypeCode, depth: usize) -> Result<Type, String> {
    if depth > MOST_DEPTH {
        return Err(format!("a type is more than {MOST_DEPTH} deep, the limit"));
    }
    let plan_type = |ty: &TypeCode| plan_type(ty, depth + 1);
    let named = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let (name, type_id) = (named(ty.name()), named(ty.id()));
    let basic = |basic| Ok(Type::Basic(basic));
    match ty.kind() {
        TcKind::Null | TcKind::Void => Ok(Type::Null),
        TcKind::Short => basic(Basic::Short),
        TcKind::Long => basic(Basic::Long),
        TcKind::Longlong => basic(Basic::LongLong),
        TcKind::Ushort => basic(Basic::UShort),
        TcKind::Ulong => basic(Basic::ULong),
        TcKind::Ulonglong => basic(Basic::ULongLong),
        TcKind::Float => basic(Basic::Float),
        TcKind::Double => basic(Basic::Double),
        TcKind::Longdouble => basic(Basic::LongDouble),
        TcKind::Boolean => basic(Basic::Boolean),
        TcKind::Octet => basic(Basic::Octet),
        TcKind::Char => basic(Basic::Char),
        TcKind::Wchar => basic(Basic::WChar),
        TcKind::String | TcKind::Wstring => match ty.shape() {
            Shape::String { bound } => Ok(text(Basic::String, bound)),
            Shape::Wstring { bound } => Ok(text(Basic::WString, bound)),
            _ => Err(refused(ty)),
        },
        TcKind::Alias if ty.id() == Some(REFERENCE.0) => basic(Basic::Objref),
        TcKind::Enum => {
            let members = ty.as_ref().enumerators().iter();
            let members = members.map(|member| member.to_string()).collect();
            Ok(Type::Enum { name, type_id, members })
        }
        TcKind::Struct => {
            let members = ty.as_ref().members().map(|member| {
                let kind = plan_type(&member.ty.to_type_code())?;
                Ok((member.name.to_string(), kind))
            });
            Ok(Type::Struct { name, type_id, members: members.collect::<Result<_, String>>()? })
        }
        TcKind::Sequence => match ty.shape() {
            Shape::Sequence { element, bound } => {
                Ok(Type::Sequence { bound, element: Box::new(plan_type(&element.to_type_code())?) })
            }
            _ => Err(refused(ty)),
        },
        TcKind::Array => match ty.shape() {
            Shape::Array { element, length } => {
                Ok(Type::Array { length, element: Box::new(plan_type(&element.to_type_code())?) })
            }
            _ => Err(refused(ty)),
        },
        TcKind::Alias => match ty.as_ref().content() {
            Some(content) => Ok(Type::Alias {
                name,
                type_id,
                element: Box::new(plan_type(&content.to_type_code())?),
            }),
            None => Err(refused(ty)),
        },
        _ => Err(refused(ty)),
    }
}

fn text(basic: Basic, bound: Option<u32>) -> Type {
    match bound {
        Some(bound) => Type::Bounded { basic, bound },
        None => Type::Basic(basic),
    }
}

fn refused(ty: &TypeCode) -> String {
    format!("properties of plans have no values of the type {ty}")
}

/// Converts a dynamic value to data of a type.
fn data(kind: &Type, tree: &Dynamic) -> Result<Data, String> {
    Ok(match (kind, tree) {
        (Type::Null, _) => Data::Null,
        (Type::Alias { element, .. }, tree) => data(element, tree)?,
        (_, Dynamic::Short(number)) => Data::Integer((*number).into()),
        (_, Dynamic::Long(number)) => Data::Integer((*number).into()),
        (_, Dynamic::Longlong(number)) => Data::Integer(*number),
        (_, Dynamic::Ushort(number)) => Data::Integer((*number).into()),
        (_, Dynamic::Ulong(number)) => Data::Integer((*number).into()),
        (_, Dynamic::Octet(number)) => Data::Integer((*number).into()),
        (_, Dynamic::Ulonglong(number)) => Data::Unsigned(*number),
        (_, Dynamic::Float(number)) => Data::Float(*number),
        (_, Dynamic::Double(number)) => Data::Double(*number),
        (_, Dynamic::Longdouble(number)) => Data::Text(number.to_f64().to_string()),
        (_, Dynamic::Boolean(value)) => Data::Boolean(*value),
        (_, Dynamic::Char(one) | Dynamic::Wchar(one)) => Data::Text(one.to_string()),
        (_, Dynamic::String(text) | Dynamic::Wstring(text)) => Data::Text(text.clone()),
        (Type::Enum { members, .. }, Dynamic::Enum { ordinal, .. }) => {
            let name = members.get(*ordinal as usize);
            Data::Enum(name.cloned().ok_or("the number of an enumerator is too large")?)
        }
        (Type::Struct { members, .. }, Dynamic::Struct(fields)) => {
            let pairs = members.iter().zip(fields);
            let values = pairs.map(|((_, kind), field)| data(kind, &field.value));
            Data::Struct(values.collect::<Result<_, _>>()?)
        }
        (Type::Sequence { element, .. }, Dynamic::Sequence(items))
        | (Type::Array { element, .. }, Dynamic::Array(items)) => {
            let items = items.iter().map(|item| data(element, item));
            Data::Sequence(items.collect::<Result<_, _>>()?)
        }
        (Type::Sequence { .. } | Type::Array { .. }, Dynamic::Octets(octets)) => {
            let octets = octets.iter().map(|octet| Data::Integer((*octet).into()));
            Data::Sequence(octets.collect())
        }
        _ => return Err(format!("{tree:?} is no data of {kind:?}")),
    })
}
