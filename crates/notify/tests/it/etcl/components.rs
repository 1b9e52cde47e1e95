//! Random components of random values, in every form of an any, compared with a simple model. Values consist of
//! structs, unions, sequences, arrays, enums and nested anys. Components select parts by name, position, element and
//! label, and use `_length`, `_d`, `_type_id`, `_repos_id`, `exist`, `default` and `in`.

use oxorb_cdr::{Any, Dynamic, Field, Label, TypeCode};
use oxorb_notify::etcl::{Constraint, Grammar, Subject};
use oxorb_testkit::rounds;
use proptest::prelude::*;

use crate::etcl::common::{Structured, forms};

#[derive(Clone, Debug)]
enum Type {
    Boolean,
    Long,
    Text,
    Color,
    Sequence(Box<Type>),
    Array(Box<Type>, u32),
    Struct(Vec<Type>),
    /// A union with the members `red`, `blue` and `other`, which a color or a number selects.
    Union(bool, Box<[Type; 3]>),
    Any(Box<Type>),
}

const COLORS: [&str; 3] = ["red", "green", "blue"];

/// Labels of a union whose discriminant is a number. If it is a color, the labels are those of the first and last
/// color.
const LABELS: [i128; 2] = [-1, 7];

#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Boolean(bool),
    Long(i32),
    Text(String),
    Color(usize),
    List(Vec<Plain>),
    Struct(Vec<Plain>),
    /// A union: its discriminant, and the index of the member.
    Union(i128, usize, Box<Plain>),
}

impl Type {
    fn code(&self) -> TypeCode {
        let color = || TypeCode::enumeration("IDL:Color:1.0", "Color", COLORS);
        match self {
            Type::Boolean => TypeCode::BOOLEAN,
            Type::Long => TypeCode::LONG,
            Type::Text => TypeCode::STRING,
            Type::Color => color(),
            Type::Sequence(of) => TypeCode::sequence(of.code()),
            Type::Array(of, length) => TypeCode::array(of.code(), *length),
            Type::Struct(members) => {
                let names: Vec<_> = (0..members.len()).map(|at| format!("m{at}")).collect();
                let members = names.iter().map(String::as_str);
                let members = members.zip(self.members().iter().map(Type::code));
                TypeCode::structure("IDL:Struct:1.0", "Struct", members.collect::<Vec<_>>())
            }
            Type::Union(by_color, members) => {
                let [first, last] = labels(*by_color);
                let switch = if *by_color { color() } else { TypeCode::LONG };
                let members = [
                    (Label::Value(first), "red", members[0].code()),
                    (Label::Value(last), "blue", members[1].code()),
                    (Label::Default, "other", members[2].code()),
                ];
                TypeCode::union("IDL:Union:1.0", "Union", switch, members)
            }
            Type::Any(_) => TypeCode::ANY,
        }
    }

    fn members(&self) -> &[Type] {
        match self {
            Type::Struct(members) => members,
            _ => &[],
        }
    }

    /// Returns the names that `_type_id` and `_repos_id` select.
    fn names(&self) -> (&'static str, Option<&'static str>) {
        match self {
            Type::Boolean => ("boolean", None),
            Type::Long => ("long", None),
            Type::Text => ("string", None),
            Type::Color => ("Color", Some("IDL:Color:1.0")),
            Type::Sequence(_) => ("sequence", None),
            Type::Array(..) => ("array", None),
            Type::Struct(_) => ("Struct", Some("IDL:Struct:1.0")),
            Type::Union(..) => ("Union", Some("IDL:Union:1.0")),
            Type::Any(of) => of.names(),
        }
    }

    fn dynamic(&self, value: &Plain) -> Dynamic {
        match (self, value) {
            (Type::Boolean, Plain::Boolean(value)) => Dynamic::Boolean(*value),
            (Type::Long, Plain::Long(value)) => Dynamic::Long(*value),
            (Type::Text, Plain::Text(value)) => Dynamic::String(value.clone()),
            (Type::Color, Plain::Color(at)) => {
                Dynamic::Enum { name: COLORS[*at].into(), ordinal: *at as u32 }
            }
            (Type::Sequence(of), Plain::List(list)) => {
                Dynamic::Sequence(list.iter().map(|one| of.dynamic(one)).collect())
            }
            (Type::Array(of, _), Plain::List(list)) => {
                Dynamic::Array(list.iter().map(|one| of.dynamic(one)).collect())
            }
            (Type::Struct(members), Plain::Struct(values)) => {
                let fields = members.iter().zip(values).enumerate();
                let fields = fields.map(|(at, (member, value))| Field {
                    name: format!("m{at}").into(),
                    value: member.dynamic(value),
                });
                Dynamic::Struct(fields.collect())
            }
            (Type::Union(_, members), Plain::Union(label, member, value)) => {
                let mut union = Dynamic::default_for(&self.code()).unwrap();
                union.select(&self.code(), *label).unwrap();
                let name = ["red", "blue", "other"][*member];
                *union.at_mut(name).expect("the member") = members[*member].dynamic(value);
                union
            }
            (Type::Any(of), value) => {
                Dynamic::Any(Any::with_type(of.code(), of.dynamic(value)).unwrap())
            }
            other => unreachable!("{other:?}"),
        }
    }
}

fn labels(by_color: bool) -> [i128; 2] {
    if by_color { [0, 2] } else { LABELS }
}

#[derive(Clone, Debug)]
enum Step {
    Member(&'static str),
    Position(usize),
    Element(usize),
    Number(i128),
    Color(&'static str),
    Default,
    Length,
    Discriminator,
    TypeName,
    RepositoryId,
}

impl Step {
    fn written(&self) -> String {
        match self {
            Step::Member(name) => format!(".{name}"),
            Step::Position(at) => format!(".{at}"),
            Step::Element(at) => format!("[{at}]"),
            Step::Number(label) => format!(".({label})"),
            Step::Color(label) => format!(".('{label}')"),
            Step::Default => ".()".to_owned(),
            Step::Length => "._length".to_owned(),
            Step::Discriminator => "._d".to_owned(),
            Step::TypeName => "._type_id".to_owned(),
            Step::RepositoryId => "._repos_id".to_owned(),
        }
    }

    fn is_last(&self) -> bool {
        use Step::{Discriminator, Length, RepositoryId, TypeName};
        matches!(self, Length | Discriminator | TypeName | RepositoryId)
    }
}

/// Part of a value, or a property of a part.
#[derive(Clone, Debug)]
enum Found {
    Part(Type, Plain),
    Said(Plain),
}

/// Resolves nested anys.
fn opened(ty: &Type, value: &Plain) -> Found {
    match ty {
        Type::Any(of) => opened(of, value),
        ty => Found::Part(ty.clone(), value.clone()),
    }
}

fn step(found: Found, step: &Step) -> Option<Found> {
    let Found::Part(ty, value) = found else {
        return None;
    };
    let said = |plain| Some(Found::Said(plain));
    match (step, &ty, &value) {
        (Step::Member(name), Type::Struct(types), Plain::Struct(values)) => {
            let at = name.strip_prefix('m')?.parse::<usize>().ok()?;
            Some(opened(types.get(at)?, &values[at]))
        }
        (Step::Member(name), Type::Union(_, types), Plain::Union(_, member, value)) => {
            let selected = ["red", "blue", "other"][*member];
            (selected == *name).then(|| opened(&types[*member], value))
        }
        (Step::Position(at), Type::Struct(types), Plain::Struct(values)) => {
            Some(opened(types.get(*at)?, &values[*at]))
        }
        (Step::Element(at), Type::Sequence(of) | Type::Array(of, _), Plain::List(list)) => {
            Some(opened(of, list.get(*at)?))
        }
        (
            Step::Number(_) | Step::Color(_) | Step::Default,
            Type::Union(by_color, types),
            Plain::Union(label, member, value),
        ) => {
            let is_it = match step {
                Step::Number(number) => number == label,
                Step::Color(name) if *by_color => COLORS[*label as usize] == *name,
                // The text is not the spelling of a label, so it is the name of a member.
                Step::Color(name) => ["red", "blue", "other"][*member] == *name,
                _ => *member == 2,
            };
            is_it.then(|| opened(&types[*member], value))
        }
        (Step::Length, _, Plain::List(list)) => said(Plain::Long(list.len() as i32)),
        (Step::Discriminator, Type::Union(by_color, _), Plain::Union(label, ..)) => {
            said(match by_color {
                true => Plain::Color(*label as usize),
                false => Plain::Long(*label as i32),
            })
        }
        (Step::TypeName, ty, _) => said(Plain::Text(ty.names().0.to_owned())),
        (Step::RepositoryId, ty, _) => said(Plain::Text(ty.names().1?.to_owned())),
        _ => None,
    }
}

/// Returns the part that a path selects.
fn walk(ty: &Type, value: &Plain, path: &[Step]) -> Option<Found> {
    path.iter().try_fold(opened(ty, value), step)
}

fn simple(found: &Found) -> Option<&Plain> {
    let (Found::Part(_, value) | Found::Said(value)) = found;
    match value {
        Plain::List(_) | Plain::Struct(_) | Plain::Union(..) => None,
        value => Some(value),
    }
}

/// Reports whether two simple values are equal; `None` if their kinds cannot be compared.
fn equal(left: &Plain, right: &Plain) -> Option<bool> {
    let text = |plain: &Plain| match plain {
        Plain::Text(text) => Some(text.clone()),
        Plain::Color(at) => Some(COLORS[*at].to_owned()),
        _ => None,
    };
    let number = |plain: &Plain| match plain {
        Plain::Boolean(value) => Some(i32::from(*value)),
        Plain::Long(value) => Some(*value),
        Plain::Color(at) => Some(*at as i32),
        _ => None,
    };
    match (left, right) {
        (Plain::Text(_), _) | (_, Plain::Text(_)) => Some(text(left)? == text(right)?),
        _ => Some(number(left)? == number(right)?),
    }
}

fn element_equals(found: &Found, wanted: &Plain) -> Option<bool> {
    let Found::Part(Type::Sequence(of) | Type::Array(of, _), Plain::List(list)) = found else {
        return None;
    };
    for one in list {
        if equal(wanted, simple(&opened(of, one))?)? {
            return Some(true);
        }
    }
    Some(false)
}

fn types() -> impl Strategy<Value = Type> {
    let leaf = prop::sample::select(vec![Type::Boolean, Type::Long, Type::Text, Type::Color]);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed.clone().prop_map(Type::Sequence),
            (boxed.clone(), 1..3_u32).prop_map(|(of, length)| Type::Array(of, length)),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Type::Struct),
            (any::<bool>(), prop::array::uniform3(inner))
                .prop_map(|(by_color, of)| Type::Union(by_color, Box::new(of))),
            boxed.prop_map(Type::Any),
        ]
    })
}

fn value(ty: &Type) -> BoxedStrategy<Plain> {
    match ty {
        Type::Boolean => any::<bool>().prop_map(Plain::Boolean).boxed(),
        Type::Long => (-1..4_i32).prop_map(Plain::Long).boxed(),
        Type::Text => prop::sample::select(vec!["", "red", "it's"])
            .prop_map(|text| Plain::Text(text.to_owned()))
            .boxed(),
        Type::Color => (0..3_usize).prop_map(Plain::Color).boxed(),
        Type::Sequence(of) => prop::collection::vec(value(of), 0..4).prop_map(Plain::List).boxed(),
        Type::Array(of, length) => {
            prop::collection::vec(value(of), *length as usize).prop_map(Plain::List).boxed()
        }
        Type::Struct(members) => {
            let values: Vec<_> = members.iter().map(value).collect();
            values.prop_map(Plain::Struct).boxed()
        }
        Type::Union(by_color, members) => {
            let [first, last] = labels(*by_color);
            let choices = [(first, 0), (last, 1), (1, 2)];
            let choices = choices.map(|(label, member)| {
                let of = value(&members[member]);
                of.prop_map(move |of| Plain::Union(label, member, Box::new(of))).boxed()
            });
            proptest::strategy::Union::new(choices).boxed()
        }
        Type::Any(of) => value(of),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        4 => prop::sample::select(vec!["m0", "m1", "red", "blue", "other"]).prop_map(Step::Member),
        2 => (0..3_usize).prop_map(Step::Position),
        3 => (0..3_usize).prop_map(Step::Element),
        2 => prop::sample::select(vec![-1_i128, 0, 1, 2, 7]).prop_map(Step::Number),
        1 => prop::sample::select(COLORS.to_vec()).prop_map(Step::Color),
        1 => Just(Step::Default),
        1 => Just(Step::Length),
        1 => Just(Step::Discriminator),
        1 => Just(Step::TypeName),
        1 => Just(Step::RepositoryId),
    ];
    prop::collection::vec(one, 0..5)
}

fn literal() -> impl Strategy<Value = (String, Plain)> {
    prop_oneof![
        (-1..4_i32).prop_map(|number| (number.to_string(), Plain::Long(number))),
        any::<bool>().prop_map(|value| {
            let text = if value { "TRUE" } else { "FALSE" };
            (text.to_owned(), Plain::Boolean(value))
        }),
        prop::sample::select(vec!["", "red", "it's", "long", "Color", "IDL:Struct:1.0"]).prop_map(
            |text| {
                let written = format!("'{}'", text.replace('\'', "\\'"));
                (written, Plain::Text(text.to_owned()))
            }
        ),
    ]
}

/// Returns the steps that select an existing part. Other steps are dropped, except sometimes the last one.
fn fitting(ty: &Type, value: &Plain, steps: Vec<Step>, keeps_last: bool) -> Vec<Step> {
    let mut path: Vec<Step> = Vec::new();
    let count = steps.len();
    for (at, one) in steps.into_iter().enumerate() {
        path.push(one);
        let is_kept = keeps_last && at + 1 == count;
        if !is_kept && walk(ty, value, &path).is_none() {
            path.pop();
        }
        if path.last().is_some_and(Step::is_last) {
            break;
        }
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(300, 3000)))]

    #[test]
    fn components_are_what_the_model_says(
        (ty, value) in types().prop_flat_map(|ty| {
            let value = value(&ty);
            (Just(ty), value)
        }),
        steps in steps(),
        keeps_last in any::<bool>(),
        (written, wanted) in literal(),
    ) {
        let path = fitting(&ty, &value, steps, keeps_last);
        let found = walk(&ty, &value, &path);
        let component: String = path.iter().map(Step::written).collect();
        // `default $.u._d` means the same as `default $.u`, so remove `_d`.
        let asked = match path.split_last() {
            Some((Step::Discriminator, union)) if found.is_some() => walk(&ty, &value, union),
            _ => found.clone(),
        };
        let is_default = match &asked {
            Some(Found::Part(Type::Union(..), Plain::Union(_, member, _))) => Some(*member == 2),
            _ => None,
        };
        let table = [
            (format!("exist $x{component}"), Some(found.is_some())),
            (
                format!("$x{component} == {written}"),
                found.as_ref().and_then(|found| equal(simple(found)?, &wanted)),
            ),
            (format!("default $x{component}"), is_default),
            (
                format!("{written} in $x{component}"),
                found.as_ref().and_then(|found| element_equals(found, &wanted)),
            ),
        ];
        let any = Any::with_type(ty.code(), ty.dynamic(&value)).unwrap();
        for (text, expected) in table {
            let constraint = Constraint::parse(&text, Grammar::Extended);
            let constraint = constraint.unwrap_or_else(|error| panic!("{text}: {error}"));
            for any in forms(&any) {
                let event = Structured {
                    body: vec![("x", any)],
                    ..Structured::default()
                };
                let result = constraint.evaluate(Subject::Structured(&event));
                prop_assert_eq!(result.clone().ok(), expected, "{}: {:?}", text, result);
            }
        }
    }
}
