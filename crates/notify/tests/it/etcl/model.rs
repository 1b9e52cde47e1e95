//! Random constraints for random events, compared with a simple model that evaluates them literally by the
//! specification. The model has no parser, uses no encoded values, and shares no code with the implementation.

use oxorb_cdr::{Any, ByteOrder};
use oxorb_notify::etcl::{Constraint, Grammar, Subject};
use oxorb_testkit::rounds;
use proptest::prelude::*;

use crate::etcl::common::{Structured, received};

#[derive(Clone, Debug, PartialEq)]
enum Plain {
    Boolean(bool),
    Integer(i128),
    Text(String),
    List(Vec<i32>),
}

#[derive(Clone, Debug)]
enum Tree {
    Literal(Plain),
    Name(usize),
    Exist(usize),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
    Compare(&'static str, Box<Tree>, Box<Tree>),
    Compute(&'static str, Box<Tree>, Box<Tree>),
    Within(Box<Tree>, Box<Tree>),
    In(Box<Tree>, usize),
}

/// Names of properties. Each event has some of them.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

type Properties = [Option<Plain>; 5];

/// Evaluates a constraint in the model; `None` if it cannot be evaluated.
fn model(tree: &Tree, event: &Properties) -> Option<Plain> {
    let boolean = |tree| match model(tree, event)? {
        Plain::Boolean(value) => Some(value),
        _ => None,
    };
    Some(match tree {
        Tree::Literal(value) => value.clone(),
        Tree::Name(name) => match event[*name].clone()? {
            Plain::List(_) => return None,
            value => value,
        },
        Tree::Exist(name) => Plain::Boolean(event[*name].is_some()),
        Tree::Not(operand) => Plain::Boolean(!boolean(operand)?),
        Tree::And(left, right) => Plain::Boolean(boolean(left)? && boolean(right)?),
        Tree::Or(left, right) => Plain::Boolean(boolean(left)? || boolean(right)?),
        Tree::Compare(operator, left, right) => {
            let (left, right) = (model(left, event)?, model(right, event)?);
            let ordering = match (&left, &right) {
                (Plain::Text(left), Plain::Text(right)) => left.cmp(right),
                _ => number(&left)?.cmp(&number(&right)?),
            };
            Plain::Boolean(match *operator {
                "==" => ordering.is_eq(),
                "!=" => ordering.is_ne(),
                "<" => ordering.is_lt(),
                "<=" => ordering.is_le(),
                ">" => ordering.is_gt(),
                _ => ordering.is_ge(),
            })
        }
        Tree::Compute(operator, left, right) => {
            let (left, right) = (model(left, event)?, model(right, event)?);
            let (left, right) = (number(&left)?, number(&right)?);
            Plain::Integer(match *operator {
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                _ => left.checked_div(right)?,
            })
        }
        Tree::Within(part, whole) => match (model(part, event)?, model(whole, event)?) {
            (Plain::Text(part), Plain::Text(whole)) => Plain::Boolean(whole.contains(&part)),
            _ => return None,
        },
        Tree::In(value, name) => {
            let value = model(value, event)?;
            let Plain::List(list) = event[*name].clone()? else {
                return None;
            };
            match number(&value) {
                Some(value) => {
                    Plain::Boolean(i32::try_from(value).is_ok_and(|value| list.contains(&value)))
                }
                None if list.is_empty() => Plain::Boolean(false),
                None => return None,
            }
        }
    })
}

fn number(value: &Plain) -> Option<i128> {
    match value {
        Plain::Boolean(value) => Some((*value).into()),
        Plain::Integer(value) => Some(*value),
        _ => None,
    }
}

/// Returns the text of a constraint with the fewest parentheses. If `spare` is set, adds one more pair everywhere.
fn written(tree: &Tree, spare: bool) -> String {
    /// Returns the precedence of the weakest operator outside parentheses.
    fn rank(tree: &Tree) -> u8 {
        match tree {
            Tree::Or(..) => 0,
            Tree::And(..) => 1,
            Tree::Compare(..) => 2,
            Tree::In(..) => 3,
            Tree::Within(..) => 4,
            Tree::Compute("+" | "-", ..) => 5,
            Tree::Compute(..) => 6,
            Tree::Not(_) => 7,
            _ => 8,
        }
    }
    let part = |part: &Tree, least: u8| match spare && rank(part) >= least {
        true => written(part, spare),
        false => format!("({})", written(part, spare)),
    };
    let own = rank(tree);
    match tree {
        Tree::Literal(Plain::Boolean(value)) => value.to_string().to_uppercase(),
        Tree::Literal(Plain::Integer(value)) => value.to_string(),
        Tree::Literal(Plain::Text(value)) => {
            format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        Tree::Literal(Plain::List(_)) => unreachable!("there are no lists in the language"),
        Tree::Name(name) => match spare {
            true => format!("${}", NAMES[*name]),
            false => NAMES[*name].to_owned(),
        },
        Tree::Exist(name) => format!("exist $.filterable_data({})", NAMES[*name]),
        Tree::Not(operand) => format!("not {}", part(operand, 8)),
        Tree::And(left, right) => format!("{} and {}", part(left, own), part(right, own + 1)),
        Tree::Or(left, right) => format!("{} or {}", part(left, own), part(right, own + 1)),
        Tree::Compare(operator, left, right) => {
            format!("{} {operator} {}", part(left, own + 1), part(right, own + 1))
        }
        Tree::Compute(operator, left, right) => {
            format!("{}{operator}{}", part(left, own), part(right, own + 1))
        }
        Tree::Within(left, right) => format!("{} ~ {}", part(left, own + 1), part(right, own + 1)),
        Tree::In(value, name) => format!("{} in {}", part(value, own + 1), NAMES[*name]),
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    prop_oneof![
        any::<bool>().prop_map(Plain::Boolean),
        (-3i128..4).prop_map(Plain::Integer),
        any::<i32>().prop_map(|value| Plain::Integer(value.into())),
        "[a-c'\\\\é]{0,3}".prop_map(Plain::Text),
    ]
}

fn property() -> impl Strategy<Value = Option<Plain>> {
    prop_oneof![
        1 => Just(None),
        4 => plain().prop_map(Some),
        1 => proptest::collection::vec(-3i32..4, 0..4).prop_map(|list| Some(Plain::List(list))),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let name = 0..NAMES.len();
    let leaf = prop_oneof![
        plain().prop_map(Tree::Literal),
        name.clone().prop_map(Tree::Name),
        name.clone().prop_map(Tree::Exist),
    ];
    leaf.prop_recursive(5, 40, 2, move |inner| {
        let two = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
        let operator = prop::sample::select(vec!["+", "-", "*", "/"]);
        prop_oneof![
            inner.clone().prop_map(|one| Tree::Not(Box::new(one))),
            two.clone().prop_map(|(left, right)| Tree::And(left, right)),
            two.clone().prop_map(|(left, right)| Tree::Or(left, right)),
            (comparison, two.clone())
                .prop_map(|(one, (left, right))| Tree::Compare(one, left, right)),
            (operator, two.clone())
                .prop_map(|(one, (left, right))| Tree::Compute(one, left, right)),
            two.prop_map(|(left, right)| Tree::Within(left, right)),
            (inner.prop_map(Box::new), 0..NAMES.len()).prop_map(|(one, name)| Tree::In(one, name)),
        ]
    })
}

fn any_of(value: &Plain) -> Any {
    match value {
        Plain::Boolean(value) => Any::new(*value),
        Plain::Integer(value) => Any::new(i64::try_from(*value).expect("a small one")),
        Plain::Text(value) => Any::new(value.clone()),
        Plain::List(value) => Any::new(value.clone()),
    }
}

fn event(properties: &Properties, order: Option<ByteOrder>) -> Structured {
    let present = NAMES.iter().zip(properties);
    let present = present.filter_map(|(name, value)| Some((*name, any_of(value.as_ref()?))));
    Structured {
        body: present
            .map(|(name, value)| {
                (name, order.map_or(value.clone(), |order| received(&value, order)))
            })
            .collect(),
        ..Structured::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(200, 2000)))]

    #[test]
    fn constraints_are_what_the_model_says(tree in tree(), properties in prop::array::uniform5(property())) {
        let expected = model(&tree, &properties).and_then(|value| match value {
            Plain::Boolean(value) => Some(value),
            _ => None,
        });
        for spare in [false, true] {
            let text = written(&tree, spare);
            match Constraint::parse(&text, Grammar::Extended) {
                Ok(constraint) => for order in [None, Some(ByteOrder::Big), Some(ByteOrder::Little)] {
                    let event = event(&properties, order);
                    let found = constraint.evaluate(Subject::Structured(&event));
                    prop_assert_eq!(found.clone().ok(), expected, "{}: {:?}", text, found);
                },
                // The parser may reject only a constraint that matches no event, whatever the values of the event are.
                Err(error) => prop_assert!(never(&tree), "{}: {}", text, error),
            }
        }
    }
}

/// Reports whether the constraint contains an operand of a kind that its operator never accepts.
fn never(tree: &Tree) -> bool {
    #[derive(PartialEq, Clone, Copy)]
    enum Kind {
        Any,
        Boolean,
        Number,
        Text,
    }
    fn kind(tree: &Tree) -> Kind {
        match tree {
            Tree::Literal(Plain::Boolean(_)) => Kind::Boolean,
            Tree::Literal(Plain::Integer(_)) | Tree::Compute(..) => Kind::Number,
            Tree::Literal(_) => Kind::Text,
            Tree::Name(_) => Kind::Any,
            _ => Kind::Boolean,
        }
    }
    fn inside(tree: &Tree) -> bool {
        let not_boolean = |tree: &Tree| matches!(kind(tree), Kind::Number | Kind::Text);
        match tree {
            Tree::Literal(_) | Tree::Name(_) | Tree::Exist(_) => false,
            Tree::Not(one) => not_boolean(one) || inside(one),
            Tree::And(left, right) | Tree::Or(left, right) => {
                not_boolean(left) || not_boolean(right) || inside(left) || inside(right)
            }
            Tree::Compare(_, left, right) => {
                let kinds = [kind(left), kind(right)];
                let one_text = kinds.iter().filter(|kind| **kind == Kind::Text).count() == 1;
                one_text && !kinds.contains(&Kind::Any) || inside(left) || inside(right)
            }
            Tree::Compute(operator, left, right) => {
                let by_zero =
                    *operator == "/" && matches!(**right, Tree::Literal(Plain::Integer(0)));
                by_zero
                    || kind(left) == Kind::Text
                    || kind(right) == Kind::Text
                    || inside(left)
                    || inside(right)
            }
            Tree::Within(left, right) => {
                let no_text = |tree: &Tree| matches!(kind(tree), Kind::Number | Kind::Boolean);
                no_text(left) || no_text(right) || inside(left) || inside(right)
            }
            Tree::In(one, _) => inside(one),
        }
    }
    inside(tree) || matches!(kind(tree), Kind::Number | Kind::Text)
}
