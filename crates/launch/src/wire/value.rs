//! Conversion of values of properties to and from anys.

use std::collections::HashMap;
use std::sync::Arc;

use oxorb_cdr::{Any, Dynamic, Field, LongDouble, Shape, TcKind, TypeCode};
use oxorb_deploy::value::{self, Basic, Data, Type};

/// Type of references. In plans they are text, and may be URLs. In anys they are therefore strings with this alias.
const REFERENCE: (&str, &str) = ("IDL:oxorb.org/OxDeployment/ReferenceText:1.0", "ReferenceText");

/// Maximum depth of the types of properties, the same as in documents.
const MOST_DEPTH: usize = 48;

/// Rest of the limits that the types and values of all properties of a plan or package share.
///
/// A type code contains a type once, even if many members have this type, but [`Type`] has a copy for each member. The
/// names of members and enumerators are written again with each value. A short message can therefore describe a type or
/// a value that would exhaust the memory.
#[derive(Debug)]
pub(super) struct ValueBudget {
    most: usize,
    most_octets: usize,
    /// Number of further types, members and enumerators.
    types: usize,
    /// Number of further values, including those within others.
    values: usize,
    /// Number of further octets of names and texts.
    octets: usize,
}

impl ValueBudget {
    /// Returns the limits of a plan in a call. A document has fewer elements, but a message needs only one octet for an
    /// element of a sequence of octets. The parts need at most about 200 MiB for the types and 64 MiB for the values.
    pub(super) const fn of_plan() -> ValueBudget {
        ValueBudget::new(2_000_000, 64 << 20)
    }

    /// Returns the limits of a package.
    pub(super) const fn of_package() -> ValueBudget {
        ValueBudget::new(100_000, 16 << 20)
    }

    const fn new(most: usize, most_octets: usize) -> ValueBudget {
        ValueBudget { most, most_octets, types: most, values: most, octets: most_octets }
    }

    fn spend_types(&mut self, count: usize) -> Result<(), String> {
        let what = "types of properties";
        self.types = rest(self.types, count, self.most, what, "parts")?;
        Ok(())
    }

    fn spend_values(&mut self, count: usize) -> Result<(), String> {
        let what = "values of properties";
        self.values = rest(self.values, count, self.most, what, "parts")?;
        Ok(())
    }

    fn spend_octets(&mut self, count: usize) -> Result<(), String> {
        let what = "types and values of properties";
        self.octets =
            rest(self.octets, count, self.most_octets, what, "octets of names and texts")?;
        Ok(())
    }
}

/// Returns what is left of a limit after `count`.
fn rest(left: usize, count: usize, most: usize, what: &str, of: &str) -> Result<usize, String> {
    left.checked_sub(count)
        .ok_or_else(|| format!("the {what} have more than {most} {of}, the limit"))
}

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
/// Types that plans do not support, such as unions, valuetypes and `any`; a type or a value of more than 2,000,000
/// parts, or of more than 64 MiB of names and texts.
pub fn from_any(any: &Any) -> Result<value::Any, String> {
    value_of(any, &mut ValueBudget::of_plan())
}

/// Converts an any to the value of a property, within the limits.
pub(super) fn value_of(any: &Any, left: &mut ValueBudget) -> Result<value::Any, String> {
    let kind = plan_type(any.type_code(), 0, left)?;
    let tree = any.dynamic().map_err(|error| error.to_string())?;
    Ok(value::Any { data: data(&kind, &tree, left)?, kind, ..value::Any::default() })
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
    dynamic_of(kind, data, &mut SharedNames::default())
}

/// Names in a type, by their addresses. All values of the type share them, so that a long name is not copied for each
/// value, nor compared with all enumerators.
#[derive(Default)]
struct SharedNames<'t> {
    members: HashMap<*const u8, Arc<str>>,
    enumerators: HashMap<*const String, HashMap<&'t str, u32>>,
}

impl<'t> SharedNames<'t> {
    fn member(&mut self, name: &'t str) -> Arc<str> {
        self.members.entry(name.as_ptr()).or_insert_with(|| Arc::from(name)).clone()
    }

    /// Returns the number of an enumerator. If two have the same name, returns that of the first.
    fn ordinal(&mut self, members: &'t [String], name: &str) -> Option<u32> {
        let known = self.enumerators.entry(members.as_ptr()).or_insert_with(|| {
            let mut ordinals = HashMap::with_capacity(members.len());
            for (ordinal, name) in (0..).zip(members) {
                ordinals.entry(name.as_str()).or_insert(ordinal);
            }
            ordinals
        });
        known.get(name).copied()
    }
}

fn dynamic_of<'t>(
    kind: &'t Type,
    data: &Data,
    names: &mut SharedNames<'t>,
) -> Result<Dynamic, String> {
    let unfit = || format!("{data:?} is not data of {kind:?}");
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
            let ordinal = names.ordinal(members, name).ok_or_else(unfit)?;
            Dynamic::Enum { name: Arc::from(name.as_str()), ordinal }
        }
        (Type::Struct { members, .. }, Data::Struct(values)) if members.len() == values.len() => {
            let fields = members.iter().zip(values).map(|((name, kind), data)| {
                let value = dynamic_of(kind, data, names)?;
                Ok(Field { name: names.member(name), value })
            });
            Dynamic::Struct(fields.collect::<Result<_, String>>()?)
        }
        (Type::Sequence { element, .. }, Data::Sequence(items)) => {
            sequence(element, items, names, Dynamic::Sequence)?
        }
        (Type::Array { length, element }, Data::Sequence(items))
            if items.len() == *length as usize =>
        {
            sequence(element, items, names, Dynamic::Array)?
        }
        (Type::Alias { element, .. }, data) => dynamic_of(element, data, names)?,
        _ => return Err(unfit()),
    })
}

/// Returns the elements as a sequence or an array. Sequences of octets have a special representation.
fn sequence<'t>(
    element: &'t Type,
    items: &[Data],
    names: &mut SharedNames<'t>,
    make: fn(Vec<Dynamic>) -> Dynamic,
) -> Result<Dynamic, String> {
    let items = items.iter().map(|item| dynamic_of(element, item, names));
    let items = items.collect::<Result<Vec<_>, _>>()?;
    if !is_octet(element) {
        return Ok(make(items));
    }
    let octets = items.iter().map(|item| match item {
        Dynamic::Octet(octet) => Ok(*octet),
        other => Err(format!("{other:?} is not an octet")),
    });
    Ok(Dynamic::Octets(octets.collect::<Result<_, _>>()?))
}

/// Reports whether a type is `octet`, or an alias of it.
fn is_octet(kind: &Type) -> bool {
    match kind {
        Type::Alias { element, .. } => is_octet(element),
        kind => *kind == Type::Basic(Basic::Octet),
    }
}

/// Converts a type code to a type. The limit of the depth also rejects recursive types.
pub(super) fn plan_type(
    ty: &TypeCode,
    depth: usize,
    left: &mut ValueBudget,
) -> Result<Type, String> {
    if depth > MOST_DEPTH {
        return Err(format!("a type is more than {MOST_DEPTH} deep, the limit"));
    }
    let enumerators = ty.as_ref().enumerators();
    left.spend_types(1 + ty.as_ref().members().len() + enumerators.len())?;
    let names = [ty.name(), ty.id()].into_iter().flatten().map(str::len);
    let names = names.chain(ty.as_ref().members().map(|member| member.name.len()));
    let names = names.chain(enumerators.iter().map(|name| name.len()));
    left.spend_octets(names.sum())?;
    let mut plan_type = |ty: &TypeCode| plan_type(ty, depth + 1, left);
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
            let members = enumerators.iter().map(|member| member.to_string()).collect();
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
fn data(kind: &Type, tree: &Dynamic, left: &mut ValueBudget) -> Result<Data, String> {
    // Documents write no element for an alias.
    if !matches!(kind, Type::Alias { .. }) {
        left.spend_values(1)?;
    }
    Ok(match (kind, tree) {
        (Type::Null, _) => Data::Null,
        (Type::Alias { element, .. }, tree) => data(element, tree, left)?,
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
        (_, Dynamic::String(text) | Dynamic::Wstring(text)) => {
            left.spend_octets(text.len())?;
            Data::Text(text.clone())
        }
        (Type::Enum { members, .. }, Dynamic::Enum { ordinal, .. }) => {
            let name = members.get(*ordinal as usize);
            let name = name.ok_or("the number of an enumerator is too large")?;
            left.spend_octets(name.len())?;
            Data::Enum(name.clone())
        }
        (Type::Struct { members, .. }, Dynamic::Struct(fields)) => {
            left.spend_octets(members.iter().map(|(name, _)| name.len()).sum())?;
            let pairs = members.iter().zip(fields);
            let values = pairs.map(|((_, kind), field)| data(kind, &field.value, left));
            Data::Struct(values.collect::<Result<_, _>>()?)
        }
        (Type::Sequence { element, .. }, Dynamic::Sequence(items))
        | (Type::Array { element, .. }, Dynamic::Array(items)) => {
            let items = items.iter().map(|item| data(element, item, left));
            Data::Sequence(items.collect::<Result<_, _>>()?)
        }
        (Type::Sequence { .. } | Type::Array { .. }, Dynamic::Octets(octets)) => {
            left.spend_values(octets.len())?;
            let octets = octets.iter().map(|octet| Data::Integer((*octet).into()));
            Data::Sequence(octets.collect())
        }
        // The texts of the value and of the type may be very long.
        _ => return Err("the value is not one of its type".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_type_share_its_names() {
        let element = Type::Struct {
            name: "Point".to_owned(),
            type_id: "IDL:Point:1.0".to_owned(),
            members: vec![("x".to_owned(), Type::Basic(Basic::Long))],
        };
        let kind = Type::Sequence { bound: None, element: Box::new(element) };
        let point = |x| Data::Struct(vec![Data::Integer(x)]);
        let value = dynamic(&kind, &Data::Sequence(vec![point(1), point(2)])).unwrap();
        let Dynamic::Sequence(points) = &value else { panic!("{value:?}") };
        let [Dynamic::Struct(one), Dynamic::Struct(other)] = points.as_slice() else {
            panic!("{points:?}");
        };
        assert!(Arc::ptr_eq(&one[0].name, &other[0].name));
    }

    #[test]
    fn the_parts_of_a_plan_need_bounded_memory() {
        let most = ValueBudget::of_plan();
        assert!(most.types * size_of::<(String, Type)>() <= 200 << 20);
        assert!(most.values * size_of::<Data>() <= 64 << 20);
    }

    #[test]
    fn sequences_of_octets_are_found_behind_aliases() {
        let alias = |element| Type::Alias {
            name: "Byte".to_owned(),
            type_id: "IDL:Byte:1.0".to_owned(),
            element: Box::new(element),
        };
        for element in [Type::Basic(Basic::Octet), alias(alias(Type::Basic(Basic::Octet)))] {
            let kind = Type::Sequence { bound: None, element: Box::new(element) };
            let value = dynamic(&kind, &Data::Sequence(vec![Data::Integer(7)])).unwrap();
            assert_eq!(value, Dynamic::Octets(vec![7]));
        }
    }
}
