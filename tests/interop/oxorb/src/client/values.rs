//! Checks of valuetypes: see `interop_values.idl`.

use oxorb::{Abstract, Any, Interface, Link, Orb, Value, ValueBase, Valuetype};
use oxorb_interop::interop::SuiteRef;
use oxorb_interop::interop_jacorb::{ExtrasRef, Secret};
use oxorb_interop::interop_values::{self, Base, Form, Known, Node, PrintableRef, Text};
use oxorb_interop::values::{Far, name_of, node};

use crate::check::{Checks, Result, fail, holds, same, some};

type Values = interop_values::SuiteRef;

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb) -> Result {
    orb.values().register(Base::factories());
    let values: Values = some(some(suite.extras("values")?)?.narrow()?)?;
    graphs(checks, &values);
    types(checks, &values, orb);
    checks.check("value_custom", || {
        let extras: ExtrasRef = some(some(suite.extras("jacorb")?)?.narrow()?)?;
        let secret = Value::new(Secret { code: 99 });
        same(
            "code",
            &99,
            &some(extras.echo_secret(&secret.into())?.get())?.code,
        )
    });
    Ok(())
}

/// Two nodes, the second of which is in both places of the first.
fn diamond() -> Value<Node> {
    let two: Link<Node> = Value::new(node(2, Link::null())).into();
    Value::new(Node {
        id: 1,
        next: two.clone(),
        other: two,
    })
}

fn is_diamond(one: &Value<Node>) -> Result {
    let two = some(one.next.get())?;
    holds(one.id == 1 && two.id == 2, "nodes 1 and 2")?;
    holds(one.next == one.other, "the same node twice")
}

fn graphs(checks: &mut Checks, o: &Values) {
    checks.check("value_null", || {
        holds(o.echo_node(&Link::null())?.is_null(), "null")?;
        same("name", "null", &*o.name_of(&Link::null())?)
    });
    checks.check("value_sharing", || {
        is_diamond(&some(o.echo_node(&diamond().into())?.get())?)
    });
    checks.check("value_cycle", || {
        let one = Value::cyclic(|one| {
            let two = Value::cyclic(|two| Node {
                id: 2,
                next: one,
                other: two,
            });
            node(1, two.into())
        });
        let back = some(o.echo_node(&one.into())?.get())?;
        let second = some(back.next.get())?;
        holds(back.id == 1 && second.id == 2, "nodes 1 and 2")?;
        holds(second.next.get() == Some(back), "the first again")?;
        holds(
            second.other.get() == Some(second.clone()),
            "the second again",
        )
    });
    checks.check("value_list", || {
        let list = (0..100).rev().fold(Link::null(), |next, id| {
            Link::from(Value::new(node(id, next)))
        });
        let mut at = o.echo_node(&list)?.get();
        let mut length = 0;
        while let Some(one) = at {
            same("id", &length, &one.id)?;
            (at, length) = (one.next.get(), length + 1);
        }
        same("length", &100, &length)
    });
    checks.check("value_in_two_parameters", || {
        let shared: Link<Node> = Value::new(node(5, Link::null())).into();
        let alone: Link<Node> = Value::new(node(6, Link::null())).into();
        let (back, again) = o.echo_nodes(&[shared.clone(), alone, Link::null()], &shared)?;
        same("length", &3, &back.len())?;
        holds(
            back[0] == again,
            "the same node in the sequence and the parameter",
        )?;
        same("id", &5, &some(again.get())?.id)?;
        holds(
            some(back[1].get())?.id == 6 && back[2].is_null(),
            "another node, and null",
        )
    });
}

fn types(checks: &mut Checks, o: &Values, orb: &Orb) {
    let known = || {
        Value::new(Known {
            base: Base { id: 5 },
            name: "five".to_owned(),
        })
    };
    checks.check("value_derived", || {
        same("derived", "Known 5 five", &*o.name_of(&known().into())?)?;
        let base = Value::new(Base { id: 6 });
        same("base", "Base 6", &*o.name_of(&base.into())?)?;
        same(
            "back",
            "Known 5 five",
            &*name_of(&o.echo_base(&known().into())?),
        )
    });
    checks.check("value_truncated_by_server", || {
        same("name", "Base 7", &*o.name_of(&Far::value())?)
    });
    checks.check("value_truncated_by_client", || {
        same("name", "Base 7", &*name_of(&o.far()?))
    });
    checks.check("value_boxed", || {
        let one: Link<Text> = Value::new(Text("shared".to_owned())).into();
        let two: Link<Text> = Value::new(Text("other".to_owned())).into();
        let (back, shared) = o.echo_text(&one, &one)?;
        same("text", "shared", &*some(back.get())?.0)?;
        holds(shared, "the same box")?;
        holds(!o.echo_text(&one, &two)?.1, "two boxes")?;
        holds(o.echo_text(&Link::null(), &two)?.0.is_null(), "no box")
    });
    checks.check("abstract_object", || {
        let page = o.page()?;
        let Abstract::Object(object) = &page else {
            return fail(format!("expected an object, got {page:?}"));
        };
        same("called here", "page", &*object.print()?)?;
        same(
            "called there",
            "page",
            &*o.printed(&o.echo_printable(&page)?)?,
        )
    });
    checks.check("abstract_value", || {
        let form = Value::new(Form {
            body: "A1".to_owned(),
        });
        let form: Abstract<PrintableRef> = form.into();
        same("called there", "form A1", &*o.printed(&form)?)?;
        match o.echo_printable(&form)? {
            Abstract::Value(value) => same("body", "A1", &*some(value.downcast::<Form>())?.body),
            other => fail(format!("expected a value, got {other:?}")),
        }
    });
    checks.check("value_base", || {
        let sent: Link<ValueBase> = known().into();
        let back = some(o.echo_value(&sent)?.get())?;
        let back: Link<Base> = some(back.downcast::<Base>())?.into();
        same("back", "Known 5 five", &*name_of(&back))
    });
    checks.check("any_value", || {
        let sent: Link<Node> = diamond().into();
        let back = o.echo_any(&Any::new(sent))?;
        let found = some(back.get_in::<Link<Node>>(&**orb)?)?;
        is_diamond(&some(found.get())?)
    });
}
