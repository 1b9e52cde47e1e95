//! Checks of attributes, inheritance, exceptions, references and callbacks.

use std::time::{Duration, SystemTime};

use oxorb::policy::{RelativeRequestTimeout, RelativeRoundtripTimeout, ReplyEndTime, SyncScope};
use oxorb::servant::Context;
use oxorb::settings::ClientConnections;
use oxorb::values::LongDouble;
use oxorb::{CompletionStatus, Interface, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_interop::interop::*;
use oxorb_interop::{Callback, interop_jacorb, interop_omniorb};

use crate::check::{Checks, Result, eventually, fail, holds, rotate, same, some};
use crate::data::record;

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb, corbaloc: &str) -> Result {
    properties(checks, &some(suite.property_tests()?)?);
    inheritance(checks, &some(suite.inheritance_tests()?)?, orb);
    faults(checks, &some(suite.fault_tests()?)?);
    references(checks, &some(suite.reference_tests()?)?, orb, corbaloc);
    let properties = some(suite.property_tests()?)?;
    policies(checks, &properties, &some(suite.reference_tests()?)?);
    callbacks(checks, &some(suite.reference_tests()?)?, orb)?;
    one_connection(checks, &some(suite.reference_tests()?)?)?;
    omniorb_extras(checks, suite);
    jacorb_extras(checks, suite);
    Ok(())
}

fn properties(checks: &mut Checks, o: &PropertiesRef) {
    checks.check("attribute_long", || {
        o.set_count(-42)?;
        same("count", &-42, &o.count()?)
    });
    checks.check("attribute_string", || {
        o.set_title("title")?;
        same("title", "title", o.title()?.as_str())
    });
    checks.check("attribute_enum", || {
        o.set_paint(Colour::Blue)?;
        same("paint", &Colour::Blue, &o.paint()?)
    });
    checks.check("attribute_struct", || {
        o.set_last(&record("last", 2))?;
        o.set_first(&record("first", 1))?;
        same("last", &record("last", 2), &o.last()?)?;
        same("first", &record("first", 1), &o.first()?)
    });
    checks.check("attribute_readonly", || {
        let before = o.writes()?;
        o.set_count(1)?;
        same("writes", &(before + 1), &o.writes()?)
    });
    checks.check("oneway", || {
        o.set_count(0)?;
        for _ in 0..10 {
            o.nudge(3)?;
        }
        eventually("count to become 30", || Ok(o.count()? == 30))
    });
}

fn policies(checks: &mut Checks, o: &PropertiesRef, slow: &ReferencesRef) {
    checks.check("oneway_with_server", || {
        let waiting = o.with(SyncScope::WithServer);
        o.set_count(0)?;
        for _ in 0..10 {
            waiting.nudge(3)?;
        }
        eventually("count to become 30", || Ok(o.count()? == 30))
    });
    checks.check("oneway_with_target", || {
        let waiting = o.with(SyncScope::WithTarget);
        o.set_count(0)?;
        for _ in 0..10 {
            waiting.nudge(3)?;
        }
        same("count", &30, &o.count()?)
    });
    checks.check("call_timeout", || {
        let hurried = slow.with(RelativeRoundtripTimeout(Duration::from_millis(200)));
        match hurried.slow(1000, 1) {
            Err(late) if late.kind == SystemExceptionKind::Timeout => {}
            other => return fail(format!("expected TIMEOUT, got {other:?}")),
        }
        same("after", &2, &slow.slow(0, 2)?)
    });
    checks.check("call_deadline", || {
        let bounded = slow
            .with(ReplyEndTime(SystemTime::now() + Duration::from_secs(60)))
            .with(RelativeRequestTimeout(Duration::from_secs(30)));
        same("in time", &3, &bounded.slow(0, 3)?)
    });
}

/// Checks of callers that share one connection.
fn one_connection(checks: &mut Checks, slow: &ReferencesRef) -> Result {
    let builder = oxorb_interop::trusting_alike();
    let builder = builder.client_connections(ClientConnections::Multiplexed);
    let orb = builder.build()?;
    let shared: ReferencesRef = orb.resolve(&slow.to_ior())?;
    checks.check("call_timeout_shared", || {
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| shared.slow(1000, 5));
            let hurried = shared.with(RelativeRoundtripTimeout(Duration::from_millis(200)));
            match hurried.slow(1500, 1) {
                Err(late) if late.kind == SystemExceptionKind::Timeout => {}
                other => return fail(format!("expected TIMEOUT, got {other:?}")),
            }
            let waited = waiting.join().expect("no panic");
            same("the other caller's", &5, &waited?)?;
            same("after", &2, &shared.slow(0, 2)?)
        })
    });
    checks.check("many_requests", || {
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..8)
                .map(|n| {
                    let shared = &shared;
                    scope.spawn(move || {
                        (0..50).try_for_each(|i| {
                            let value = n * 100 + i;
                            same("value", &value, &shared.slow(u32::from(i == 25), value)?)
                        })
                    })
                })
                .collect();
            callers.into_iter().try_for_each(|caller| caller.join().expect("no panic"))
        })
    });
    orb.shutdown(true)?;
    Ok(())
}

fn inheritance(checks: &mut Checks, o: &BottomRef, orb: &Orb) {
    checks.check("inherited_operations", || {
        same("who", "bottom", o.who()?.as_str())?;
        same("temper", &root::Mood::Tense, &o.temper()?)?;
        same("from_left", "left", o.from_left()?.as_str())?;
        same("from_right", "right, calm", o.from_right(root::Mood::Calm)?.as_str())?;
        same("from_bottom", "below", o.from_bottom()?.as_str())?;
        o.set_side(12)?;
        same("side", &12, &o.side()?)
    });
    checks.check("is_a", || {
        for name in ["Bottom", "Left", "Right", "Root"] {
            holds(
                o.is_a(&format!("IDL:interop.oxorb.org/Interop/{name}:1.0"))?,
                &format!("to be a {name}"),
            )?;
        }
        holds(o.is_a(ObjectRef::REPOSITORY_ID)?, "to be an Object")?;
        holds(!o.is_a(NodeRef::REPOSITORY_ID)?, "not to be a Node")
    });
    checks.check("narrow", || {
        let right = some(orb.string_to_object(&o.to_ior())?.narrow::<RightRef>()?)?;
        same("from_right", "right, tense", right.from_right(root::Mood::Tense)?.as_str())?;
        let left = some(RootRef::from(right).narrow::<LeftRef>()?)?;
        same("from_left", "left", left.from_left()?.as_str())?;
        let bottom = some(left.narrow::<BottomRef>()?)?;
        same("from_bottom", "below", bottom.from_bottom()?.as_str())
    });
    checks.check("narrow_refused", || {
        holds(o.narrow::<NodeRef>()?.is_none(), "nil from narrowing to an unrelated interface")
    });
}

/// Checks the members that every server puts into its Detailed.
fn check_detailed(e: &Detailed, reason: &str, code: i32, name: &str) -> Result {
    same("reason", reason, e.reason.as_str())?;
    same("code", &code, &e.code)?;
    same("name", name, e.context_record.name.as_str())
}

fn faults(checks: &mut Checks, o: &FaultsRef) {
    checks.check("user_exception_none", || {
        same("result", &0, &o.raise_user(0)?)?;
        Ok(o.maybe(false)?)
    });
    checks.check("user_exception_empty", || match o.raise_user(1) {
        Err(faults::RaiseUserError::Empty(_)) => Ok(()),
        other => fail(format!("expected Empty, got {other:?}")),
    });
    checks.check("user_exception_members", || match o.raise_user(2) {
        Err(faults::RaiseUserError::Detailed(e)) => {
            check_detailed(&e, "because", -7, "record")?;
            same(
                "position",
                &Point { tag: 9, x: -1.5, y: -2, height: 3, visible: true },
                &e.context_record.position,
            )?;
            same("notes", &vec!["noted".to_owned()], &e.context_record.notes)
        }
        other => fail(format!("expected Detailed, got {other:?}")),
    });
    checks.check("user_exception_union", || match o.raise_user(3) {
        Err(faults::RaiseUserError::Chosen(Chosen { choice: ByShort::L(label, value) })) => {
            same("label and value", &(7, 77), &(label.get(), value))
        }
        other => fail(format!("expected Chosen with l, got {other:?}")),
    });
    checks.check("user_exception_void", || match o.maybe(true) {
        Err(faults::MaybeError::Empty(_)) => Ok(()),
        other => fail(format!("expected Empty, got {other:?}")),
    });
    checks.check("user_exception_out", || {
        let (result, data) = o.maybe_out(false)?;
        same("result", "fine", result.as_str())?;
        same("data", &[0, 1, 2][..], &data[..])?;
        match o.maybe_out(true) {
            Err(faults::MaybeOutError::Detailed(e)) => check_detailed(&e, "because", -7, "record"),
            other => fail(format!("expected Detailed, got {other:?}")),
        }
    });
    let system = |name: &str, minor: u32, completed: CompletionStatus| {
        let kind = some(SystemExceptionKind::from_name(name))?;
        match o.raise_system(name, minor, completed as u32) {
            Err(e) => same(name, &(kind, minor, completed), &(e.kind, e.minor, e.completed)),
            Ok(()) => fail(format!("expected {name}, got nothing")),
        }
    };
    // Without COMM_FAILURE and TRANSIENT, which make some clients retry, and without the latest exceptions, which
    // omniORB lacks.
    checks.check("system_exception", || {
        for name in [
            "UNKNOWN",
            "BAD_PARAM",
            "NO_MEMORY",
            "IMP_LIMIT",
            "INV_OBJREF",
            "OBJECT_NOT_EXIST",
            "NO_PERMISSION",
            "INTERNAL",
            "MARSHAL",
            "INITIALIZE",
            "NO_IMPLEMENT",
            "BAD_TYPECODE",
            "BAD_OPERATION",
            "NO_RESOURCES",
            "NO_RESPONSE",
            "PERSIST_STORE",
            "BAD_INV_ORDER",
            "FREE_MEM",
            "INV_IDENT",
            "INV_FLAG",
            "INTF_REPOS",
            "BAD_CONTEXT",
            "OBJ_ADAPTER",
            "DATA_CONVERSION",
            "INV_POLICY",
            "REBIND",
            "TIMEOUT",
            "TRANSACTION_UNAVAILABLE",
            "TRANSACTION_MODE",
            "TRANSACTION_REQUIRED",
            "TRANSACTION_ROLLEDBACK",
            "INVALID_TRANSACTION",
            "CODESET_INCOMPATIBLE",
            "BAD_QOS",
        ] {
            system(name, 0x4f58_0001, CompletionStatus::No)?;
        }
        Ok(())
    });
    checks.check("system_exception_minor", || {
        [0, 1, 0x4f4d_0002, 0x4f58_ffff, u32::MAX]
            .into_iter()
            .try_for_each(|minor| system("NO_PERMISSION", minor, CompletionStatus::No))
    });
    checks.check("system_exception_completion", || {
        [CompletionStatus::Yes, CompletionStatus::No, CompletionStatus::Maybe]
            .into_iter()
            .try_for_each(|completed| system("NO_RESOURCES", 5, completed))
    });
    checks.check("unknown_operation", || {
        expect(SystemExceptionKind::BadOperation, o.unchecked_narrow::<NodeRef>().value()).map(drop)
    });
}

/// Returns the system exception of this kind that a call must raise.
fn expect<T: std::fmt::Debug>(
    kind: SystemExceptionKind,
    got: core::result::Result<T, SystemException>,
) -> Result<SystemException> {
    match got {
        Err(e) if e.kind == kind => Ok(e),
        other => fail(format!("expected {}, got {other:?}", kind.name())),
    }
}

/// Returns the value of the node behind a reference; `None` for nil.
fn value(reference: Option<&NodeRef>) -> Result<Option<i32>> {
    Ok(reference.map(NodeRef::value).transpose()?)
}

fn object_value(reference: Option<&ObjectRef>) -> Result<Option<i32>> {
    match reference {
        Some(object) => value(object.narrow::<NodeRef>()?.as_ref()),
        None => Ok(None),
    }
}

fn references(checks: &mut Checks, o: &ReferencesRef, orb: &Orb, corbaloc: &str) {
    checks.check("reference", || {
        let three = some(o.make_node(3)?)?;
        let four = some(three.next()?)?;
        same("three", &3, &three.value()?)?;
        same("four", &4, &four.value()?)?;
        for (x, y, values) in [
            (Some(&three), Some(&four), (Some(3), Some(4))),
            (Some(&three), None, (Some(3), None)),
            (None, Some(&four), (None, Some(4))),
        ] {
            let mut b = y.cloned();
            let (result, c) = o.rotate_node(x, &mut b)?;
            let got = (value(result.as_ref())?, value(b.as_ref())?, value(c.as_ref())?);
            same("result, inout, out", &(values.1, values.0, values.1), &got)?;
        }
        Ok(())
    });
    checks.check("reference_nil", || {
        holds(o.make_nil()?.is_none(), "nil back")?;
        holds(o.is_nil(None)?, "nil to arrive as nil")?;
        holds(!o.is_nil(o.make_node(1)?.as_ref())?, "a reference not to arrive as nil")
    });
    checks.check("reference_object", || {
        let x: ObjectRef = some(o.make_node(5)?)?.unchecked_narrow();
        let y: ObjectRef = some(o.make_node(6)?)?.unchecked_narrow();
        let mut b = Some(y);
        let (result, c) = o.rotate_object(Some(&x), &mut b)?;
        let got =
            (object_value(result.as_ref())?, object_value(b.as_ref())?, object_value(c.as_ref())?);
        same("result, inout, out", &(Some(6), Some(5), Some(6)), &got)?;
        let mut nil = None;
        let (result, _) = o.rotate_object(Some(&x), &mut nil)?;
        same(
            "nil, then x",
            &(None, Some(5)),
            &(object_value(result.as_ref())?, object_value(nil.as_ref())?),
        )
    });
    checks.check("reference_equivalent", || {
        let (x, y) = (some(o.make_node(7)?)?, some(o.make_node(8)?)?);
        let mut b = Some(y.clone());
        let (_, c) = o.rotate_node(Some(&x), &mut b)?;
        let (back_x, back_y) = (some(b)?, some(c)?);
        holds(back_x == x && back_y == y, "equivalent, whoever wrote them")?;
        holds(back_x != back_y, "not equivalent to each other")
    });
    checks.check("reference_sequence", || {
        let x = [o.make_node(1)?, None, o.make_node(2)?];
        let mut b = Vec::new();
        let (result, c) = o.rotate_nodes(&x, &mut b)?;
        holds(result.is_empty() && c.is_empty(), "empty sequences back")?;
        let values = b.iter().map(|node| value(node.as_ref())).collect::<Result<Vec<_>>>()?;
        same("inout", &vec![Some(1), None, Some(2)], &values)
    });
    checks.check("reference_in_struct", || {
        let x = Holder { label: "full".to_owned(), inside: o.make_node(8)? };
        let mut b = Holder { label: "empty".to_owned(), inside: None };
        let (result, c) = o.rotate_holder(&x, &mut b)?;
        same("inout", &("full", Some(8)), &(b.label.as_str(), value(b.inside.as_ref())?))?;
        holds(result.inside.is_none() && c.inside.is_none(), "nil back")
    });
    checks.check("reference_stringified", || {
        let node = some(o.make_node(21)?)?;
        let back = some(orb.string_to_object(&node.to_ior())?.narrow::<NodeRef>()?)?;
        same("value", &21, &back.value()?)?;
        holds(back == node, "an equal reference")
    });
    checks.check("reference_corbaloc", || {
        let again: SuiteRef = orb.resolve(corbaloc)?;
        let mut b = 2;
        let (result, _) = some(again.number_tests()?)?.rotate_long(1, &mut b)?;
        same("result", &2, &result)
    });
    checks.check("reference_by_name", || {
        let address = corbaloc.split_once('/').map_or("", |(address, _)| address);
        let named: SuiteRef = orb.resolve(&format!("{address}/Suite"))?;
        let constants = some(named.number_tests()?)?.constant_values()?;
        same("product", &PRODUCT, &constants.product)
    });
    checks.check("non_existent", || {
        holds(!some(o.make_node(1)?)?.non_existent()?, "a live object to exist")?;
        holds(some(o.make_stale()?)?.non_existent()?, "a stale reference not to exist")
    });
    checks.check("object_not_exist", || {
        let gone = expect(SystemExceptionKind::ObjectNotExist, some(o.make_stale()?)?.value())?;
        same("completed", &CompletionStatus::No, &gone.completed)
    });
    checks.check("location_forward", || {
        let node = some(o.make_forwarded(33)?)?;
        same("value", &33, &node.value()?)?;
        same("again", &33, &node.value()?)?;
        same("next", &34, &some(node.next()?)?.value()?)
    });
}

fn callbacks(checks: &mut Checks, o: &ReferencesRef, orb: &Orb) -> Result {
    let (servant, me) = Callback::activate(orb)?;
    checks.check("callback", || same("sum", &110, &o.call_back(Some(&me), 10)?));
    checks.check("callback_exception", || match o.fail_back(Some(&me), 55) {
        Err(references::FailBackError::Detailed(e)) => {
            check_detailed(&e, "asked to", 55, "callback")
        }
        other => fail(format!("expected Detailed, got {other:?}")),
    });
    checks.check("callback_nested", || {
        let there = some(o.make_callback()?)?;
        same("depth", &7, &there.down(Some(&me), 7)?)
    });
    checks.check("callback_oneway", || {
        o.tell_back(Some(&me), "news")?;
        eventually("the news to arrive", || Ok(servant.heard() == "news"))
    });
    checks.check("idle_connection", || {
        // Waits long enough for the server to close the connection.
        same("before", &1, &o.slow(0, 1)?)?;
        std::thread::sleep(Duration::from_secs(5));
        same("after", &2, &o.slow(0, 2)?)
    });
    checks.check("parallel", || {
        let right = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|t| {
                    scope.spawn(move || {
                        let answers =
                            (0..20).map(|i| (t * 100 + i, o.slow(t as u32 % 4, t * 100 + i)));
                        answers.filter(|(question, answer)| *answer == Ok(*question)).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(0)).sum::<usize>()
        });
        same("right answers", &160, &right)
    });
    Ok(())
}

fn omniorb_extras(checks: &mut Checks, suite: &SuiteRef) {
    let find = || -> Result<interop_omniorb::ExtrasRef> {
        some(some(suite.extras("omniorb")?)?.narrow()?)
    };
    checks.check("long_double", || {
        // omniORB's long double on x86: the 80-bit number as in memory, with six octets unused.
        let x87 = |value: f64| LongDouble::from_bits(LongDouble::from(value).to_x87());
        let shown = |value: LongDouble| LongDouble::from_x87(value.to_bits()).to_f64();
        let o = find()?;
        for (x, y) in [(0.0, 1.5), (-1e300, core::f64::consts::PI)] {
            let mut b = x87(y);
            let (result, c) = o.rotate_longdouble(x87(x), &mut b)?;
            same("result, inout, out", &(y, x, y), &(shown(result), shown(b), shown(c)))?;
        }
        Ok(())
    });
    checks.check("union_far_labels", || {
        use interop_omniorb::{FarLabels, TopLabels};
        let o = find()?;
        rotate(&[FarLabels::S(-3), FarLabels::T("far".to_owned())], |a, b| o.rotate_far(a, b))?;
        rotate(&[TopLabels::D(1.5), TopLabels::D(-1.5)], |a, b| o.rotate_top(a, b))
    });
    checks.check("context", || {
        let mut context = Context::new();
        context.set("colour", "mauve");
        context.set("smell", "not in the clause");
        same("colour", "mauve", find()?.with_context(1, &context)?.as_str())
    });
}

fn jacorb_extras(checks: &mut Checks, suite: &SuiteRef) {
    use interop_jacorb::extras::{BrokenError, LevelError, SetLevelError};
    let find =
        || -> Result<interop_jacorb::ExtrasRef> { some(some(suite.extras("jacorb")?)?.narrow()?) };
    checks.check("attribute_may_raise", || {
        let o = find()?;
        o.set_level(3)?;
        same("level", &3, &o.level()?)
    });
    checks.check("attribute_raises", || {
        let o = find()?;
        match o.broken() {
            Err(BrokenError::Refused(e)) => same("limit", &-1, &e.limit)?,
            other => fail(format!("expected Refused, got {other:?}"))?,
        }
        match o.set_level(11) {
            Err(SetLevelError::Refused(e)) => same("limit", &10, &e.limit)?,
            other => fail(format!("expected Refused, got {other:?}"))?,
        }
        o.set_level(-1)?;
        match o.level() {
            Err(LevelError::Refused(e)) => same("limit", &0, &e.limit),
            other => fail(format!("expected Refused, got {other:?}")),
        }
    });
}
