//! Checks of valuetypes: see `interop_values.idl`.

use oxorb::cdr::{Decode, Encode};
use oxorb::values::{Abstract, Typed, Value, ValueBase, ValueLink, Valuetype};
use oxorb::{Any, Interface, Orb};
use oxorb_interop::interop::SuiteRef;
use oxorb_interop::interop_jacorb::{ExtrasRef, Secret};
use oxorb_interop::interop_values::{
    self, Base, Either, Form, Known, Node, PrintableRef, Spot, Tag, Tally, Text, Twins, Whole,
};
use oxorb_interop::values::{Far, described, name_of, node};

use crate::check::{Checks, Result, fail, holds, same, some};
use crate::data::{by_short, point, record};

type Values = interop_values::SuiteRef;

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb) -> Result {
    orb.values().register(Base::factories());
    orb.values().register(Node::factories());
    let values: Values = some(some(suite.extras("values")?)?.narrow()?)?;
    graphs(checks, &values);
    types(checks, &values);
    within(checks, &values);
    in_anys(checks, &values, orb);
    checks.check("value_custom", || {
        let extras: ExtrasRef = some(some(suite.extras("jacorb")?)?.narrow()?)?;
        let secret = Value::new(Secret { code: 99 });
        same("code", &99, &some(extras.echo_secret(&secret.into())?.get())?.code)
    });
    Ok(())
}

/// Returns two nodes, the second of which is in both slots of the first.
fn diamond() -> Value<Node> {
    let two: ValueLink<Node> = Value::new(node(2, ValueLink::null())).into();
    Value::new(Node { id: 1, next: two.clone(), other: two })
}

fn is_diamond(one: &Value<Node>) -> Result {
    let two = some(one.next.get())?;
    holds(one.id == 1 && two.id == 2, "nodes 1 and 2")?;
    holds(one.next == one.other, "the same node twice")
}

fn graphs(checks: &mut Checks, o: &Values) {
    checks.check("value_null", || {
        holds(o.echo_node(&ValueLink::null())?.is_null(), "null")?;
        same("name", "null", &*o.name_of(&ValueLink::null())?)
    });
    checks.check("value_sharing", || is_diamond(&some(o.echo_node(&diamond().into())?.get())?));
    checks.check("value_cycle", || {
        let one = Value::cyclic(|one| {
            let two = Value::cyclic(|two| Node { id: 2, next: one, other: two });
            node(1, two.into())
        });
        let back = some(o.echo_node(&one.into())?.get())?;
        let second = some(back.next.get())?;
        holds(back.id == 1 && second.id == 2, "nodes 1 and 2")?;
        holds(second.next.get() == Some(back), "the first again")?;
        holds(second.other.get() == Some(second.clone()), "the second again")
    });
    checks.check("value_list", || {
        let list = (0..100)
            .rev()
            .fold(ValueLink::null(), |next, id| ValueLink::from(Value::new(node(id, next))));
        let mut at = o.echo_node(&list)?.get();
        let mut length = 0;
        while let Some(one) = at {
            same("id", &length, &one.id)?;
            (at, length) = (one.next.get(), length + 1);
        }
        same("length", &100, &length)
    });
    checks.check("value_in_two_parameters", || {
        let shared: ValueLink<Node> = Value::new(node(5, ValueLink::null())).into();
        let alone: ValueLink<Node> = Value::new(node(6, ValueLink::null())).into();
        let (back, again) = o.echo_nodes(&[shared.clone(), alone, ValueLink::null()], &shared)?;
        same("length", &3, &back.len())?;
        holds(back[0] == again, "the same node in the sequence and the parameter")?;
        same("id", &5, &some(again.get())?.id)?;
        holds(some(back[1].get())?.id == 6 && back[2].is_null(), "another node, and null")
    });
}

fn types(checks: &mut Checks, o: &Values) {
    checks.check("value_derived", || {
        same("derived", "Known 5 five", &*o.name_of(&known().into())?)?;
        let base = Value::new(Base { id: 6 });
        same("base", "Base 6", &*o.name_of(&base.into())?)?;
        same("back", "Known 5 five", &*name_of(&o.echo_base(&known().into())?))
    });
    checks
        .check("value_truncated_by_server", || same("name", "Base 7", &*o.name_of(&Far::value())?));
    checks.check("value_truncated_by_client", || same("name", "Base 7", &*name_of(&o.far()?)));
    checks.check("value_boxed", || {
        let one: ValueLink<Text> = Value::new(Text("shared".to_owned())).into();
        let two: ValueLink<Text> = Value::new(Text("other".to_owned())).into();
        let (back, shared) = o.echo_text(&one, &one)?;
        same("text", "shared", &*some(back.get())?.0)?;
        holds(shared, "the same box")?;
        holds(!o.echo_text(&one, &two)?.1, "two boxes")?;
        holds(o.echo_text(&ValueLink::null(), &two)?.0.is_null(), "no box")
    });
    checks.check("abstract_object", || {
        let page = o.page()?;
        let Abstract::Object(object) = &page else {
            return fail(format!("expected an object, got {page:?}"));
        };
        same("called here", "page", &*object.print()?)?;
        same("called there", "page", &*o.printed(&o.echo_printable(&page)?)?)
    });
    checks.check("abstract_value", || {
        let form = Value::new(Form { body: "A1".to_owned() });
        let form: Abstract<PrintableRef> = form.into();
        same("called there", "form A1", &*o.printed(&form)?)?;
        match o.echo_printable(&form)? {
            Abstract::Value(value) => same("body", "A1", &*some(value.downcast::<Form>())?.body),
            other => fail(format!("expected a value, got {other:?}")),
        }
    });
    checks.check("value_base", || {
        let sent: ValueLink<ValueBase> = known().into();
        let back = some(o.echo_value(&sent)?.get())?;
        let back: ValueLink<Base> = some(back.downcast::<Base>())?.into();
        same("back", "Known 5 five", &*name_of(&back))
    });
}

/// Checks values as any parameter, and within other types.
fn within(checks: &mut Checks, o: &Values) {
    checks.check("value_rotated", || {
        let y: ValueLink<Node> = Value::new(node(2, ValueLink::null())).into();
        let x: ValueLink<Node> = Value::new(node(1, y.clone())).into();
        let mut b = y;
        let (back, c) = o.rotate_node(&x, &mut b)?;
        let one = some(b.get())?;
        holds(
            some(back.get())?.id == 2 && one.id == 1 && c == back,
            "nodes 2, 1, and the first again",
        )?;
        holds(one.next == c, "what 1 leads to, the same")?;
        let mut base: ValueLink<Base> = Value::new(Base { id: 6 }).into();
        let (back, _) = o.rotate_base(&known().into(), &mut base)?;
        same("result", "Base 6", &*name_of(&back))?;
        same("inout", "Known 5 five", &*name_of(&base))
    });
    checks.check("value_whole", || {
        let (x, mut b) = (whole(None), whole(Some("words")));
        same("described", AS_NODE, &*o.described(&x)?)?;
        let (back, c) = o.rotate_whole(&x, &mut b)?;
        same("result", AS_TEXT, &*some(described(&back))?)?;
        same("inout", AS_NODE, &*some(described(&b))?)?;
        holds(back == c, "the same value twice")
    });
    checks.check("value_in_struct", || {
        let mut b = Tag { before: 2, held: ValueLink::null(), after: 4 };
        let (back, _) = o.rotate_tag(&tag(1), &mut b)?;
        holds(back.held.is_null() && back.after == 4, "null")?;
        holds(is_tag(&b, 1), "node 1")
    });
    checks.check("value_in_union", || {
        let mut b = Either::Words(boxed("words"));
        match (o.rotate_either(&one(1), &mut b)?.0, b) {
            (Either::Words(text), Either::One(node)) => {
                same("text", "words", &*some(text.get())?.0)?;
                same("node", &1, &some(node.get())?.id)
            }
            other => fail(format!("expected a text and a node, got {other:?}")),
        }
    });
    checks.check("abstract_rotated", || {
        let form = Form { body: "A1".to_owned() };
        let mut b: Abstract<PrintableRef> = Value::new(form).into();
        match (o.rotate_printable(&o.page()?, &mut b)?.0, b) {
            (Abstract::Value(value), Abstract::Object(page)) => {
                same("body", "A1", &*some(value.downcast::<Form>())?.body)?;
                same("called here", "page", &*page.print()?)
            }
            other => fail(format!("expected a value and an object, got {other:?}")),
        }
    });
}

fn in_anys(checks: &mut Checks, o: &Values, orb: &Orb) {
    checks.check("any_value", || {
        let found = retyped(o, orb, ValueLink::from(diamond()))?;
        is_diamond(&some(found.get())?)
    });
    checks.check("any_value_derived", || {
        let back: ValueLink<Base> =
            some(retyped::<ValueLink<Known>>(o, orb, known().into())?.get())?.into();
        same("Known", "Known 5 five", &*name_of(&back))?;
        let base: ValueLink<Base> = known().into();
        same("Known as Base", "Known 5 five", &*name_of(&retyped(o, orb, base)?))
    });
    checks.check("any_value_boxed", || {
        same("text", "boxed", &*some(retyped(o, orb, boxed("boxed"))?.get())?.0)?;
        let spot: ValueLink<Spot> = Value::new(Spot(point(4))).into();
        same("struct", &point(4), &some(retyped(o, orb, spot)?.get())?.0)?;
        let numbers: ValueLink<Tally> = Value::new(Tally(vec![5])).into();
        same("numbers", &vec![5], &some(retyped(o, orb, numbers)?.get())?.0)
    });
    checks.check("any_value_whole", || {
        let back = retyped(o, orb, whole(None))?;
        same("described", AS_NODE, &*some(described(&back))?)
    });
    checks.check("any_value_in_struct", || {
        holds(is_tag(&retyped(o, orb, tag(1))?, 1), "a struct with node 1")?;
        match retyped(o, orb, one(1))? {
            Either::One(node) => same("in a union", &1, &some(node.get())?.id)?,
            other => fail(format!("expected a node, got {other:?}"))?,
        }
        let shared: ValueLink<Node> = Value::new(node(1, ValueLink::null())).into();
        let nodes = retyped(o, orb, vec![shared.clone(), shared])?;
        holds(nodes.len() == 2 && nodes[0] == nodes[1], "the same node twice")
    });
}

/// Returns a value that was sent in an any.
fn retyped<T>(o: &Values, orb: &Orb, value: T) -> Result<T>
where
    T: Typed + Encode + for<'de> Decode<'de> + Clone + Send + Sync + 'static,
{
    some(o.retype(&Any::new(value))?.get_in(&**orb)?)
}

const AS_NODE: &str = "9 whole 7 -12345 -3 1 1 1 2 3 2 -4 shared";
const AS_TEXT: &str = "9 whole 7 -12345 -3 1 words 1 2 3 2 -4 shared";

fn known() -> Value<Known> {
    Value::new(Known { base: Base { id: 5 }, name: "five".to_owned() })
}

fn boxed(text: &str) -> ValueLink<Text> {
    Value::new(Text(text.to_owned())).into()
}

fn tag(id: i32) -> Tag {
    Tag { before: 1, held: Value::new(node(id, ValueLink::null())).into(), after: -3 }
}

fn is_tag(tag: &Tag, id: i32) -> bool {
    tag.held.get().is_some_and(|node| node.id == id) && tag.after == -3
}

fn one(id: i32) -> Either {
    Either::One(Value::new(node(id, ValueLink::null())).into())
}

/// Returns a value with words, or with a node instead.
fn whole(words: Option<&str>) -> ValueLink<Whole> {
    let two: ValueLink<Node> = Value::new(node(2, ValueLink::null())).into();
    let one: ValueLink<Node> = Value::new(node(1, two.clone())).into();
    Value::new(Whole {
        small: 9,
        plain: record("whole", 2),
        choice: by_short(7),
        content: Any::new(-12345),
        tagged: Tag { before: 1, held: one.clone(), after: -3 },
        chosen: match words {
            Some(words) => Either::Words(boxed(words)),
            None => Either::One(one.clone()),
        },
        pair: Twins { both: [one.clone(), two.clone()] },
        all: vec![two, ValueLink::null(), one],
        figures: Value::new(Tally(vec![5, 5])).into(),
        place: Value::new(Spot(point(4))).into(),
    })
    .into()
}
