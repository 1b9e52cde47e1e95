//! Checks of `any`, `TypeCode` and `fixed`: see `interop_any.idl`.

use core::fmt::Debug;

use oxorb::cdr::{Decode, Encode};
use oxorb::values::{Decimal, Dynamic, FixedPoint, LongDouble, TypeCode, Typed, Wchar, Wstring};
use oxorb::{Any, Interface, ObjectRef, Orb};
use oxorb_interop::dynany;
use oxorb_interop::interop::*;
use oxorb_interop::interop_any::{
    self, Carrying, Choice, ContentsRef, DecimalsRef, Labelled, Priced, TypesRef, contents,
};
use oxorb_interop::types::NAMED;

use crate::check::{Checks, Result, fail, holds, rotate, same, some};
use crate::data::{by_short, point, record, tree, words};

pub(crate) fn all(checks: &mut Checks, suite: &SuiteRef, orb: &Orb) -> Result {
    let any: interop_any::SuiteRef = some(some(suite.extras("any")?)?.narrow()?)?;
    let contents = Contents { object: some(any.any_tests()?)?, orb, build: false };
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
    /// Whether values are built with DynAny.
    build: bool,
}

/// Checks plain values, and then values built with DynAny.
fn anys(checks: &mut Checks, o: &Contents<'_>, name: &str, run: impl Fn(&Contents<'_>) -> Result) {
    checks.check(&format!("any_{name}"), || run(o));
    let built = Contents { object: o.object.clone(), orb: o.orb, build: true };
    checks.check(&format!("dynany_{name}"), || run(&built));
}

impl Contents<'_> {
    /// Rotates values in an any, and makes the server extract each from its any.
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
            self.comes_back(x)?;
        }
        Ok(())
    }

    /// Rotates a value of a type that Rust does not distinguish.
    fn travel_as(&self, ty: TypeCode, value: impl Into<Dynamic>) -> Result {
        let (value, y) = (value.into(), Any::new(7));
        let any = Any::with_type(ty.clone(), value.clone())?;
        let mut b = any.clone();
        let (result, c) = self.object.rotate_any(&y, &mut b)?;
        self.holds("inout", &7, &b)?;
        for any in [result, c].into_iter().chain(self.back(&any)?) {
            holds(ty.equivalent(any.type_code()), &format!("a {ty}, got a {}", any.type_code()))?;
            same("value", &value, &any.dynamic()?)?;
        }
        Ok(())
    }

    fn comes_back<T>(&self, value: &T) -> Result
    where
        T: Typed + Encode + for<'de> Decode<'de> + Clone + Debug + Send + Sync + 'static,
    {
        for any in self.back(&Any::new(value.clone()))? {
            self.holds("back", value, &any)?;
        }
        Ok(())
    }

    /// Returns the server's results for an any: the value extracted and put into another any. If the any was built with
    /// DynAny here, also the value rebuilt with DynAny.
    fn back(&self, any: &Any) -> Result<Vec<Any>> {
        if !self.build {
            return Ok(vec![self.object.retype(any)?]);
        }
        let built = dynany::rebuilt(any)?;
        Ok(vec![self.object.retype(&built)?, self.object.rebuild(&built)?])
    }

    fn holds<T>(&self, what: &str, expected: &T, any: &Any) -> Result
    where
        T: Typed + for<'de> Decode<'de> + Clone + Debug + 'static,
    {
        match any.get_in::<T>(&**self.orb)? {
            Some(got) => same(what, expected, &got),
            None => {
                fail(format!("{what}: expected a {}, got a {}", T::type_code(), any.type_code()))
            }
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
    anys(checks, o, "integers", |o| {
        o.travel(&[255_u8, 0])?;
        o.travel(&[-2_i16, i16::MAX])?;
        o.travel(&[65535_u16, 1])?;
        o.travel(&[-2_147_483_647, 7])?;
        o.travel(&[u32::MAX, 1])?;
        o.travel(&[-1_i64 << 40, 1])?;
        o.travel(&[u64::MAX, 1])
    });
    anys(checks, o, "floats", |o| {
        o.travel(&[-0.0_f32, 1.5])?;
        o.travel(&[1.5, -0.0])
    });
    anys(checks, o, "long_double", |o| {
        // Format of omniORB on x86, which leaves six of the octets unchanged.
        let x87 = |value: f64| Any::new(LongDouble::from_bits(LongDouble::from(value).to_x87()));
        let mut b = x87(1.5);
        let (result, c) = o.object.rotate_any(&x87(-2.0), &mut b)?;
        let mut all = vec![(1.5, result), (-2.0, b), (1.5, c)];
        all.extend(o.back(&x87(0.25))?.into_iter().map(|any| (0.25, any)));
        for (expected, any) in all {
            let got: LongDouble = some(any.get()?)?;
            same("value", &expected, &LongDouble::from_x87(got.to_bits()).to_f64())?;
        }
        Ok(())
    });
    anys(checks, o, "boolean_char", |o| {
        o.travel(&[true, false])?;
        o.travel(&['x', ' '])
    });
    anys(checks, o, "string", |o| {
        o.travel(&["text".to_owned(), String::new()])?;
        o.travel(&[words(&["one", ""])])?;
        let texts = |texts: &[&str]| Dynamic::Sequence(texts.iter().map(|&t| t.into()).collect());
        o.travel_as(short_texts::type_code(), texts(&["12345678", ""]))?;
        o.travel_as(few_strings::type_code(), texts(&["a", "b", "c"]))
    });
    anys(checks, o, "wide", |o| {
        o.travel(&[Wchar('€'), Wchar('a')])?;
        o.travel(&[Wstring("日本".to_owned()), Wstring::default()])?;
        o.travel(&[["one", "", "€"].map(|text| Wstring(text.to_owned())).to_vec()])?;
        o.travel(&[vec![Wchar('a'), Wchar('€')]])?;
        o.travel(&[WideChoice::S("clef 𝄞".to_owned()), WideChoice::C('€')])
    });
    anys(checks, o, "string_named", |o| o.travel_as(short_text::type_code(), "12345678"));
    anys(checks, o, "wide_named", |o| {
        let text = Dynamic::Wstring("12345678".to_owned());
        o.travel_as(short_wide_text::type_code(), text)
    });
    anys(checks, o, "string_bounded", |o| o.travel_as(TypeCode::bounded_string(8), "12345678"));
    anys(checks, o, "wide_bounded", |o| {
        let text = Dynamic::Wstring("12345678".to_owned());
        o.travel_as(TypeCode::bounded_wstring(8), text)
    });
    anys(checks, o, "wide_struct", |o| {
        o.travel(&[WideRecord { shift: 1, letter: '€', text: "odd".to_owned(), after: 2 }])
    });
    anys(checks, o, "enum", |o| o.travel(&[Colour::Blue, Colour::Red]));
    anys(checks, o, "typedef", |o| {
        let distance = some(Any::new_as(metres::type_code(), -5))?;
        let mut b = distance.clone();
        let (result, c) = o.object.rotate_any(&Any::new(5), &mut b)?;
        same("type", &metres::type_code(), result.type_code())?;
        o.holds("result", &-5, &result)?;
        o.holds("out", &-5, &c)?;
        for any in o.back(&distance)? {
            o.holds("back", &-5, &any)?;
        }
        Ok(())
    });
}

fn constructed(checks: &mut Checks, o: &Contents<'_>) {
    anys(checks, o, "struct", |o| {
        o.travel(&[point(1), point(2)])?;
        o.travel(&[Words { r#type: 1, self_: 2, class: 3, string: 4, r#final: 5 }])?;
        o.travel(&[record("in an any", 3), record("", 0)])
    });
    anys(checks, o, "recursive", |o| o.travel(&[tree("t", 3), tree("leaf", 0)]));
    anys(checks, o, "recursive_sequence", |o| {
        o.travel(&[tree("sequence", 3).branches, vec![]])?;
        let named = Any::new(tree("named", 2).branches).dynamic()?;
        o.travel_as(trees::type_code(), named)
    });
    anys(checks, o, "union", |o| {
        o.travel(&[by_short(-1), by_short(1)])?;
        o.travel(&[ByUShort::Big(-9)])?;
        o.travel(&[ByLong::P(point(4)), ByLong::Data(vec![9, 8])])?;
        o.travel(&[ByULong::D(-0.5)])?;
        o.travel(&[ByChar::S("a".to_owned()), ByChar::L(26)])?;
        o.travel(&[ByBoolean::D(0.25), ByBoolean::S("yes".to_owned())])?;
        o.travel(&[ByEnum::Rec(record("green", 2)), ByEnum::Outline(vec![]), ByEnum::l(-4)])?;
        o.travel(&[ByMiddle::S("middle".to_owned()), ByMiddle::L(9)])?;
        o.travel(&[Nested::Inner(by_short(0))])
    });
    anys(checks, o, "union_no_member", |o| {
        o.travel(&[ByUShort::Other(some(by_u_short::OtherLabel::new(5))?)])?;
        o.travel(&[ByLong::other()])?;
        o.travel(&[ByMiddle::other()])?;
        o.travel(&[ByChar::Other(some(by_char::OtherLabel::new('m'))?)])
    });
    anys(checks, o, "union_longlong", |o| {
        o.travel(&[ByLongLong::S(-3), ByLongLong::R([1, 2, 3])])?;
        o.travel(&[ByULongLong::Texts(words(&["a", "b"]))])
    });
    anys(checks, o, "sequence", |o| {
        o.travel(&[vec![0_u8, 255], vec![]])?;
        o.travel(&[vec![], vec![1, 2]])?;
        o.travel(&[vec![true, false]])?;
        o.travel(&[vec!['a', 'b']])?;
        o.travel(&[vec![i16::MIN, 1]])?;
        o.travel(&[vec![u16::MAX, 1]])?;
        o.travel(&[vec![u32::MAX]])?;
        o.travel(&[vec![FAR, 1]])?;
        o.travel(&[vec![HUGE_NUMBER]])?;
        o.travel(&[vec![-0.0_f32, 1.5]])?;
        o.travel(&[vec![-0.0, 1.5]])?;
        o.travel(&[vec![Colour::Blue, Colour::Red]])?;
        o.travel(&[vec![point(1), point(2)]])?;
        o.travel(&[vec![record("a", 1)]])?;
        o.travel(&[vec![vec![], vec![1, 2]]])?;
        o.travel(&[vec![[0, 1, 2], [3, 4, 5]]])?;
        o.travel(&[vec![by_short(0)]])?;
        o.travel_as(few_longs::type_code(), Dynamic::Sequence(vec![Dynamic::Long(7)]))
    });
    anys(checks, o, "array", |o| {
        o.travel(&[[[1_i16, 2, 3], [4, 5, 6]]])?;
        o.travel(&[["left".to_owned(), String::new()]])?;
        o.travel(&[[[1, 2, 3], [4, 5, 6]]])?;
        o.travel(&[[1_u8, 2, 3, 4, 255]])?;
        o.travel(&[[record("a", 1), record("b", 2)]])
    });
    anys(checks, o, "exception", |o| {
        o.travel(&[Empty {}])?;
        o.travel(&[Detailed {
            reason: "in an any".to_owned(),
            code: 3,
            context_record: record("d", 1),
        }])
    });
}

fn objects(checks: &mut Checks, o: &Contents<'_>, suite: &SuiteRef) {
    anys(checks, o, "reference", |o| {
        let references = some(suite.reference_tests()?)?;
        let (x, y) = (references.make_node(12)?, references.make_node(13)?);
        for back in o.back(&Any::new(x.clone()))? {
            let node = some(some(back.get_in::<Option<NodeRef>>(&**o.orb)?)?)?;
            same("node", &12, &node.value()?)?;
        }
        let object: ObjectRef = some(x.clone())?.unchecked_narrow();
        for back in o.back(&Any::new(Some(object)))? {
            let object = some(some(back.get_in::<Option<ObjectRef>>(&**o.orb)?)?)?;
            same("object", &12, &some(object.narrow::<NodeRef>()?)?.value()?)?;
        }
        let held = Holder { label: "held".to_owned(), inside: y.clone() };
        for back in o.back(&Any::new(held))? {
            let held = some(back.get_in::<Holder>(&**o.orb)?)?;
            same("label", "held", &*held.label)?;
            same("in a struct", &13, &some(held.inside)?.value()?)?;
        }
        for back in o.back(&Any::new(vec![x, y]))? {
            let nodes: Nodes = some(back.get_in(&**o.orb)?)?;
            same("in a sequence", &13, &some(nodes[1].clone())?.value()?)?;
        }
        Ok(())
    });
    anys(checks, o, "reference_nil", |o| {
        let nil = Any::new(None::<NodeRef>);
        let mut b = Any::new(1);
        o.object.rotate_any(&nil, &mut b)?;
        o.holds("inout", &None::<NodeRef>, &b)?;
        // (JacORB makes an `Object` of every nil.)
        for again in o.back(&nil)? {
            o.holds("back", &None::<ObjectRef>, &again)?;
        }
        Ok(())
    });
    anys(checks, o, "any", |o| {
        let shallow = Any::new(Any::new("shallow".to_owned()));
        let deep = Any::new(Any::new(Any::new(record("deep", 2))));
        let mut b = deep.clone();
        let (result, c) = o.object.rotate_any(&shallow, &mut b)?;
        for any in [result, c].into_iter().chain(o.back(&deep)?) {
            let inner = some(any.get::<Any>()?)?;
            o.holds("innermost", &record("deep", 2), &some(inner.get::<Any>()?)?)?;
        }
        o.holds("inner", &"shallow".to_owned(), &some(b.get::<Any>()?)?)?;
        for any in o.back(&Any::new(Any::default()))? {
            let empty = some(any.get::<Any>()?)?;
            same("empty", &TypeCode::NULL, empty.type_code())?;
        }
        Ok(())
    });
    anys(checks, o, "typecode", |o| {
        o.travel(&[Tree::type_code(), TypeCode::LONG, ByEnum::type_code()])?;
        o.travel(&[vec![trees::type_code(), pair::type_code()]])
    });
    anys(checks, o, "fixed", |o| {
        o.travel(&[fixed::<5, 2>("-123.45")?])?;
        o.travel(&[fixed::<4, 4>("0.1234")?])?;
        o.travel(&[fixed::<31, 0>("-1234567890123456789012345678901")?])?;
        o.travel(&[fixeds::<5, 2, 2>(["111.25", "-222.75"])?])?;
        o.travel(&[priced(1, "123.4", 0.5)?])
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
        let inner =
            Labelled { before: 1, content: Any::new(1.25), after: 2, label: "x".to_owned() };
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
        let (result, _) =
            o.object.rotate_choice(&Choice::Content(Any::new(tree("u", 2))), &mut b)?;
        match (result, b) {
            (Choice::Kind(kind), Choice::Content(content)) => {
                same("type", &Record::type_code(), &kind)?;
                o.holds("inout", &tree("u", 2), &content)
            }
            other => fail(format!("expected the union to be rotated, got {other:?}")),
        }
    });
    checks.check("any_in_exception", || match o.object.raise_any(&Any::new(record("raised", 3))) {
        Err(contents::RaiseAnyError::Carrying(Carrying { content })) => {
            o.holds("content", &record("raised", 3), &content)
        }
        other => fail(format!("expected Carrying, got {other:?}")),
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
            holds(&got == any.type_code(), &format!("the type sent, got {got}"))?;
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

fn priced(before: u8, amount: &str, after: f64) -> Result<Priced> {
    Ok(Priced { before, amount: fixed(amount)?, after })
}

fn decimals(checks: &mut Checks, o: &DecimalsRef) {
    // (With all digits: see `fixed_zeros` in the harness.)
    checks.check("fixed", || {
        rotate(&fixeds(["123.45", "999.99", "-999.99", "-100"])?, |a, b| o.rotate_price(*a, b))
    });
    checks.check("fixed_fraction", || {
        rotate(&fixeds(["0.1234", "-0.9876", "0.5"])?, |a, b| o.rotate_fraction(*a, b))
    });
    checks.check("fixed_longest", || {
        let values = ["9999999999999999999999999999999", "-1234567890123456789012345678901"];
        rotate(&fixeds(values)?, |a, b| o.rotate_longest(*a, b))
    });
    checks.check("fixed_zeros", || {
        rotate(&fixeds(["0", "0.01", "-1.5", "10"])?, |a, b| o.rotate_price(*a, b))?;
        rotate(&fixeds(["0", "-0.0001"])?, |a, b| o.rotate_fraction(*a, b))?;
        rotate(&fixeds(["0", "-1"])?, |a, b| o.rotate_longest(*a, b))
    });
    checks.check("fixed_sequence", || {
        let values = [fixeds(["111.25", "-222.75"])?, vec![], fixeds(["333"])?];
        rotate(&values, |a, b| o.rotate_prices(a, b))
    });
    checks.check("fixed_in_struct", || {
        let values = [priced(1, "123.4", 0.5)?, priced(2, "-567.8", -0.5)?];
        rotate(&values, |a, b| o.rotate_priced(a, b))
    });
}
