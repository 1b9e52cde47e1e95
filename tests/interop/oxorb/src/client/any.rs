//! Checks of `any`, `TypeCode` and `fixed`: see `interop_any.idl`.

use core::fmt::Debug;

use oxorb::cdr::{Decode, Encode};
use oxorb::{
    Any, Decimal, FixedPoint, Interface, LongDouble, ObjectRef, Orb, TypeCode, Typed, Wchar,
    Wstring,
};
use oxorb_interop::interop::*;
use oxorb_interop::interop_any::{
    self, Carrying, Choice, ContentsRef, DecimalsRef, Labelled, Priced, TypesRef, contents,
};
use oxorb_interop::types::NAMED;

use crate::check::{Checks, Result, fail, holds, rotate, same, some};
use crate::data::{by_short, point, record, tree, words};

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb) -> Result {
    let any: interop_any::SuiteRef = some(some(suite.extras("any")?)?.narrow()?)?;
    let contents = Contents {
        object: some(any.any_tests()?)?,
        orb,
    };
    simple(checks, &contents);
    constructed(checks, &contents);
    objects(checks, &contents, suite);
    within(checks, &contents);
    types(checks, &some(any.type_tests()?)?);
    decimals(checks, &some(any.decimal_tests()?)?);
    Ok(())
}

// ---- any ------------------------------------------------------------------------------

struct Contents<'o> {
    object: ContentsRef,
    orb: &'o Orb,
}

impl Contents<'_> {
    /// Rotates values in an any, and has the server take each out of its any.
    fn travel<T>(&self, values: &[T]) -> Result
    where
        T: Typed + Encode + for<'de> Decode<'de> + Clone + Debug + Send + Sync + 'static,
    {
        for (at, value) in values.iter().enumerate() {
            let (x, y) = (value, &values[(at + 1) % values.len()]);
            let mut b = Any::new(y.clone());
            let (result, c) = self.object.rotate_any(&Any::new(x.clone()), &mut b)?;
            self.holds("result", y, &result)?;
            self.holds("inout", x, &b)?;
            self.holds("out", y, &c)?;
            self.holds("retyped", x, &self.object.retype(&Any::new(x.clone()))?)?;
        }
        Ok(())
    }

    fn holds<T>(&self, what: &str, expected: &T, any: &Any) -> Result
    where
        T: Typed + for<'de> Decode<'de> + Clone + Debug + 'static,
    {
        match any.get_in::<T>(&**self.orb)? {
            Some(got) => same(what, expected, &got),
            None => fail(format!(
                "{what}: expected a {}, got a {}",
                T::type_code(),
                any.type_code()
            )),
        }
    }
}

fn simple(checks: &mut Checks, o: &Contents<'_>) {
    checks.check("any_empty", || {
        let mut b = Any::new(1);
        let (result, c) = o.object.rotate_any(&Any::default(), &mut b)?;
        o.holds("result", &1, &result)?;
        o.holds("out", &1, &c)?;
        same("inout", &TypeCode::NULL, b.type_code())
    });
    checks.check("any_integers", || {
        o.travel(&[255_u8, 0])?;
        o.travel(&[-2_i16, i16::MAX])?;
        o.travel(&[65535_u16, 1])?;
        o.travel(&[-2_147_483_647, 7])?;
        o.travel(&[u32::MAX, 1])?;
        o.travel(&[-1_i64 << 40, 1])?;
        o.travel(&[u64::MAX, 1])
    });
    checks.check("any_floats", || {
        o.travel(&[-0.0_f32, 1.5])?;
        o.travel(&[1.5, -0.0])
    });
    checks.check("any_long_double", || {
        // As omniORB on x86 means it, which leaves six of the octets as they are.
        let x87 = |value: f64| Any::new(LongDouble::from_bits(LongDouble::from(value).to_x87()));
        let mut b = x87(1.5);
        let (result, c) = o.object.rotate_any(&x87(-2.0), &mut b)?;
        let again = o.object.retype(&x87(0.25))?;
        for (expected, any) in [(1.5, result), (-2.0, b), (1.5, c), (0.25, again)] {
            let got: LongDouble = some(any.get()?)?;
            same(
                "value",
                &expected,
                &LongDouble::from_x87(got.to_bits()).to_f64(),
            )?;
        }
        Ok(())
    });
    checks.check("any_boolean_char", || {
        o.travel(&[true, false])?;
        o.travel(&['x', ' '])
    });
    checks.check("any_string", || {
        o.travel(&["text".to_owned(), String::new()])?;
        let short = some(Any::new_as(short_text::type_code(), "12345678".to_owned()));
        // A bound makes another type, which a plain `String` is not.
        let bounded = match short {
            Ok(any) => any,
            Err(_) => Any::with_type(
                short_text::type_code(),
                Any::new("12345678".to_owned())
                    .dynamic()
                    .or_else(|e| fail(e.to_string()))?,
            )
            .or_else(|e| fail(e.to_string()))?,
        };
        same(
            "retyped",
            &bounded.dynamic(),
            &o.object.retype(&bounded)?.dynamic(),
        )
    });
    checks.check("any_wide", || {
        o.travel(&[Wchar('€'), Wchar('a')])?;
        o.travel(&[Wstring("日本".to_owned()), Wstring::default()])?;
        o.travel(&[WideRecord {
            shift: 1,
            letter: '€',
            text: "odd".to_owned(),
            after: 2,
        }])
    });
    checks.check("any_enum", || o.travel(&[Colour::Blue, Colour::Red]));
    checks.check("any_typedef", || {
        let distance = some(Any::new_as(metres::type_code(), -5))?;
        let mut b = distance.clone();
        let (result, c) = o.object.rotate_any(&Any::new(5), &mut b)?;
        same("type", &metres::type_code(), result.type_code())?;
        o.holds("result", &-5, &result)?;
        o.holds("out", &-5, &c)?;
        o.holds("retyped", &-5, &o.object.retype(&distance)?)
    });
}

fn constructed(checks: &mut Checks, o: &Contents<'_>) {
    checks.check("any_struct", || {
        o.travel(&[point(1), point(2)])?;
        o.travel(&[record("in an any", 3), record("", 0)])
    });
    checks.check("any_recursive", || {
        o.travel(&[tree("t", 3), tree("leaf", 0)])
    });
    checks.check("any_union", || {
        o.travel(&[by_short(-1), by_short(1)])?;
        o.travel(&[ByUShort::Big(-9)])?;
        o.travel(&[ByLong::P(point(4)), ByLong::Data(vec![9, 8])])?;
        o.travel(&[ByULong::D(-0.5)])?;
        o.travel(&[ByChar::S("a".to_owned()), ByChar::L(26)])?;
        o.travel(&[ByBoolean::D(0.25), ByBoolean::S("yes".to_owned())])?;
        o.travel(&[ByEnum::Rec(record("green", 2)), ByEnum::Outline(vec![])])?;
        o.travel(&[Nested::Inner(by_short(0))])
    });
    checks.check("any_union_longlong", || {
        o.travel(&[ByLongLong::S(-3), ByLongLong::R([1, 2, 3])])?;
        o.travel(&[ByULongLong::Texts(words(&["a", "b"]))])
    });
    checks.check("any_sequence", || {
        o.travel(&[vec![0_u8, 255], vec![]])?;
        o.travel(&[vec![], vec![1, 2]])?;
        o.travel(&[words(&["one", ""])])?;
        o.travel(&[vec![point(1), point(2)]])?;
        o.travel(&[vec![vec![], vec![1, 2]]])?;
        o.travel(&[vec![by_short(0)]])
    });
    checks.check("any_array", || {
        o.travel(&[[[1_i16, 2, 3], [4, 5, 6]]])?;
        o.travel(&[["left".to_owned(), String::new()]])?;
        o.travel(&[[record("a", 1), record("b", 2)]])
    });
    checks.check("any_exception", || {
        o.travel(&[Empty {}])?;
        o.travel(&[Detailed {
            reason: "in an any".to_owned(),
            code: 3,
            context_record: record("d", 1),
        }])
    });
}

fn objects(checks: &mut Checks, o: &Contents<'_>, suite: &SuiteRef) {
    checks.check("any_reference", || {
        let references = some(suite.reference_tests()?)?;
        let node = some(references.make_node(12)?)?;
        let back = o.object.retype(&Any::new(Some(node)))?;
        match back.get_in::<Option<NodeRef>>(&**o.orb)? {
            Some(Some(node)) => same("value", &12, &node.value()?),
            other => fail(format!("expected a node, got {other:?}")),
        }
    });
    checks.check("any_reference_nil", || {
        let nil = Any::new(None::<NodeRef>);
        let mut b = Any::new(1);
        o.object.rotate_any(&nil, &mut b)?;
        o.holds("inout", &None::<NodeRef>, &b)?;
        let again = o.object.retype(&nil)?;
        // JacORB makes an `Object` of every nil.
        if let Some(object) = again.get_in::<Option<ObjectRef>>(&**o.orb)? {
            return same("retyped", &None, &object);
        }
        o.holds("retyped", &None::<NodeRef>, &again)
    });
    checks.check("any_any", || {
        let shallow = Any::new(Any::new("shallow".to_owned()));
        let deep = Any::new(Any::new(Any::new(record("deep", 2))));
        let mut b = deep.clone();
        let (result, c) = o.object.rotate_any(&shallow, &mut b)?;
        for any in [result, c, o.object.retype(&deep)?] {
            let inner = some(any.get::<Any>()?)?;
            o.holds("innermost", &record("deep", 2), &some(inner.get::<Any>()?)?)?;
        }
        o.holds("inner", &"shallow".to_owned(), &some(b.get::<Any>()?)?)
    });
    checks.check("any_typecode", || {
        o.travel(&[Tree::type_code(), TypeCode::LONG, ByEnum::type_code()])
    });
    checks.check("any_fixed", || {
        o.travel(&[fixed::<5, 2>("-123.45")?])?;
        o.travel(&[fixed::<4, 4>("0.1234")?])?;
        o.travel(&[fixed::<31, 0>("-1234567890123456789012345678901")?])
    });
}

/// Anys within other types.
fn within(checks: &mut Checks, o: &Contents<'_>) {
    let several = || {
        let three = vec![Any::new(1_u8), Any::new(record("second", 2)), Any::new(0.5)];
        let mut four = three.clone();
        four.push(Any::new(three));
        four
    };
    checks.check("any_sequence_of_any", || {
        let (x, mut b) = (several(), Vec::new());
        let (result, c) = o.object.rotate_anys(&x, &mut b)?;
        holds(result.is_empty() && c.is_empty(), "empty sequences")?;
        o.holds("second", &record("second", 2), &b[1])?;
        o.holds("third", &0.5, &b[2])?;
        let inner = some(b[3].get::<Vec<Any>>()?)?;
        o.holds("inner second", &record("second", 2), &inner[1])
    });
    checks.check("any_array_of_any", || {
        let x = [Any::new('c'), Any::new(2.5)];
        let mut b = [Any::new("s".to_owned()), Any::new(Colour::Blue)];
        let (result, _) = o.object.rotate_two(&x, &mut b)?;
        o.holds("result", &Colour::Blue, &result[1])?;
        o.holds("inout", &2.5, &b[1])
    });
    checks.check("any_in_struct", || {
        let inner = Labelled {
            before: 1,
            content: Any::new(1.25),
            after: 2,
            label: "x".to_owned(),
        };
        let outer = Labelled {
            before: 3,
            content: Any::new(inner.clone()),
            after: 4,
            label: "y".to_owned(),
        };
        let mut b = outer;
        let (result, _) = o.object.rotate_labelled(&inner, &mut b)?;
        same("label", "x", &b.label)?;
        o.holds("inout", &1.25, &b.content)?;
        let inner = some(result.content.get::<Labelled>()?)?;
        same("after", &(4, 2), &(result.after, inner.after))?;
        o.holds("inner", &1.25, &inner.content)
    });
    checks.check("any_in_union", || {
        let mut b = Choice::Kind(Record::type_code());
        let (result, _) = o
            .object
            .rotate_choice(&Choice::Content(Any::new(tree("u", 2))), &mut b)?;
        match (result, b) {
            (Choice::Kind(kind), Choice::Content(content)) => {
                same("type", &Record::type_code(), &kind)?;
                o.holds("inout", &tree("u", 2), &content)
            }
            other => fail(format!("expected the union to be rotated, got {other:?}")),
        }
    });
    checks.check("any_in_exception", || {
        match o.object.raise_any(&Any::new(record("raised", 3))) {
            Err(contents::RaiseAnyError::Carrying(Carrying { content })) => {
                o.holds("content", &record("raised", 3), &content)
            }
            other => fail(format!("expected Carrying, got {other:?}")),
        }
    });
}

// ---- TypeCode -------------------------------------------------------------------------

fn types(checks: &mut Checks, o: &TypesRef) {
    checks.check("typecode_basic", || {
        rotate(
            &[
                TypeCode::NULL,
                TypeCode::VOID,
                TypeCode::SHORT,
                TypeCode::LONG,
                TypeCode::USHORT,
                TypeCode::ULONG,
                TypeCode::FLOAT,
                TypeCode::DOUBLE,
                TypeCode::BOOLEAN,
                TypeCode::CHAR,
                TypeCode::OCTET,
                TypeCode::ANY,
                TypeCode::TYPE_CODE,
                TypeCode::STRING,
                TypeCode::LONGLONG,
                TypeCode::ULONGLONG,
                TypeCode::WCHAR,
                TypeCode::WSTRING,
                TypeCode::OBJECT,
                TypeCode::NULL,
            ],
            |a, b| o.rotate_type(a, b),
        )
    });
    checks.check("typecode_constructed", || {
        let types: Vec<TypeCode> = NAMED.iter().map(|(_, type_code)| type_code()).collect();
        for pair in types.windows(2) {
            let mut b = pair[1].clone();
            let (result, c) = o.rotate_type(&pair[0], &mut b)?;
            for (expected, got) in [(&pair[1], &result), (&pair[0], &b), (&pair[1], &c)] {
                holds(expected == got, &format!("the type {expected}, got {got}"))?;
            }
        }
        Ok(())
    });
    checks.check("typecode_sequence", || {
        let three = vec![Tree::type_code(), Record::type_code(), Tree::type_code()];
        rotate(&[three, Vec::new()], |a, b| o.rotate_types(a, b))
    });
    checks.check("typecode_of_any", || {
        for any in [
            Any::new(1),
            Any::new(tree("t", 1)),
            Any::new(by_short(1)),
            Any::new(Any::new("s".to_owned())),
        ] {
            let got = o.type_of(&any)?;
            holds(
                &got == any.type_code(),
                &format!("the type sent, got {got}"),
            )?;
        }
        Ok(())
    });
    checks.check("typecode_of_peer", || {
        for (name, type_code) in NAMED {
            let peers = o.type_named(name)?;
            holds(
                peers.equivalent(&type_code()),
                &format!("the server's {name} to be equivalent, got {peers}"),
            )?;
        }
        Ok(())
    });
}

// ---- fixed ----------------------------------------------------------------------------

fn fixed<const D: u16, const S: u8>(text: &str) -> Result<FixedPoint<D, S>> {
    Ok(FixedPoint::new(text.parse::<Decimal>()?)?)
}

fn fixeds<const D: u16, const S: u8, const N: usize>(
    texts: [&str; N],
) -> Result<Vec<FixedPoint<D, S>>> {
    texts.into_iter().map(fixed).collect()
}

fn decimals(checks: &mut Checks, o: &DecimalsRef) {
    // (With all digits: see `fixed_zeros` in the harness.)
    checks.check("fixed", || {
        rotate(&fixeds(["123.45", "999.99", "-999.99", "-100"])?, |a, b| {
            o.rotate_price(*a, b)
        })
    });
    checks.check("fixed_fraction", || {
        rotate(&fixeds(["0.1234", "-0.9876", "0.5"])?, |a, b| {
            o.rotate_fraction(*a, b)
        })
    });
    checks.check("fixed_longest", || {
        let values = [
            "9999999999999999999999999999999",
            "-1234567890123456789012345678901",
        ];
        rotate(&fixeds(values)?, |a, b| o.rotate_longest(*a, b))
    });
    checks.check("fixed_zeros", || {
        rotate(&fixeds(["0", "0.01", "-1.5", "10"])?, |a, b| {
            o.rotate_price(*a, b)
        })?;
        rotate(&fixeds(["0", "-0.0001"])?, |a, b| o.rotate_fraction(*a, b))?;
        rotate(&fixeds(["0", "-1"])?, |a, b| o.rotate_longest(*a, b))
    });
    checks.check("fixed_sequence", || {
        let values = [fixeds(["111.25", "-222.75"])?, vec![], fixeds(["333"])?];
        rotate(&values, |a, b| o.rotate_prices(a, b))
    });
    checks.check("fixed_in_struct", || {
        let priced = |before, amount, after| -> Result<Priced> {
            Ok(Priced {
                before,
                amount: fixed(amount)?,
                after,
            })
        };
        let values = [priced(1, "123.4", 0.5)?, priced(2, "-567.8", -0.5)?];
        rotate(&values, |a, b| o.rotate_priced(a, b))
    });
}
