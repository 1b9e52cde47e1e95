//! Marshal plan: transfer of values, and their sizes in octets.

use oxorb_idl::model::{Basic, Def, DefKind, Model};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idlgen::plan::{NotYet, Plan, Size, Traits, calls, size};

fn model(idl: &str) -> Model {
    let files = Memory([("t.idl".into(), idl.as_bytes().to_vec())].into());
    let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["t.idl"], &Default::default());
    compiled.expect("the IDL is right").model
}

fn def<'m>(model: &'m Model, name: &str) -> &'m Def {
    let mut defs = model.defs();
    defs.find(|def| def.scoped_name == name).expect("is defined")
}

fn alias(model: &Model, name: &str) -> Plan {
    match &def(model, name).kind {
        DefKind::Typedef(alias) => Plan::of(model, &alias.ty).expect("has a plan"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sequences_of_numbers_are_blocks() {
    let model = model(
        "typedef sequence<octet> A; typedef sequence<A, 3> B; typedef sequence<char> C;
         typedef long D[2][3]; typedef sequence<string<4> > E;",
    );
    let octets = Plan::Block { element: Basic::Octet, bound: None };
    assert_eq!(alias(&model, "A"), octets);
    assert_eq!(alias(&model, "B"), Plan::List { element: Box::new(octets), bound: Some(3) });
    let chars = Plan::List { element: Box::new(Plan::Basic(Basic::Char)), bound: None };
    assert_eq!(alias(&model, "C"), chars);
    let row = Plan::Array { element: Box::new(Plan::Basic(Basic::Long)), length: 3 };
    assert_eq!(alias(&model, "D"), Plan::Array { element: Box::new(row), length: 2 });
    let text = Plan::Text { wide: false, bound: Some(4) };
    assert_eq!(alias(&model, "E"), Plan::List { element: Box::new(text), bound: None });
}

#[test]
fn sizes_bound_every_encoding() {
    let model = model(
        "struct Hop { octet kind; long distance; short lane; };
         typedef Hop Hops[3];
         typedef sequence<Hop, 10> Few;
         typedef sequence<Hop> Many;
         typedef string<5> Code;
         union Choice switch (octet) { case 1: double d; case 2: Hop h; };
         struct Tree { sequence<Tree> children; };
         enum Colour { red, green };",
    );
    let of = |name: &str| match &def(&model, name).kind {
        DefKind::Typedef(_) => size(&model, &alias(&model, name)),
        _ => size(&model, &Plan::Named(def(&model, name).id)),
    };
    // Each member may need up to one octet less than its alignment as padding.
    assert_eq!(of("Hop"), Size { min: 7, max: Some(1 + 7 + 3), fixed: true });
    assert_eq!(of("Hops"), Size { min: 21, max: Some(33), fixed: true });
    assert_eq!(of("Colour"), Size { min: 4, max: Some(7), fixed: true });
    assert_eq!(of("Few"), Size { min: 4, max: Some(7 + 110), fixed: false });
    assert_eq!(of("Many"), Size { min: 4, max: None, fixed: false });
    assert_eq!(of("Code"), Size { min: 4, max: Some(7 + 24), fixed: false });
    // The minimum is the label alone, which may select nothing. The maximum includes the largest
    // case.
    assert_eq!(of("Choice"), Size { min: 1, max: Some(1 + 15), fixed: false });
    assert_eq!(of("Tree"), Size { min: 4, max: None, fixed: false });
}

#[test]
fn traits_look_at_all_parts() {
    let model = model(
        "struct Flat { long a; }; struct Text { string s; }; struct Real { Flat a; double d; };
         struct Big { long a[4]; }; interface I {}; struct Holds { I held; };
         struct Tree { sequence<Tree> children; double weight; };",
    );
    let of = |name: &str| Traits::of(&model, def(&model, name).id);
    assert_eq!(of("Flat"), Traits { copy: true, eq: true });
    assert_eq!(of("Text"), Traits { copy: false, eq: true });
    assert_eq!(of("Real"), Traits { copy: true, eq: false });
    assert_eq!(of("Big"), Traits { copy: false, eq: true });
    assert_eq!(of("Holds"), Traits { copy: false, eq: false });
    assert_eq!(of("Tree"), Traits { copy: false, eq: false });
}

#[test]
fn attributes_are_calls() {
    let model = model(
        "exception E {}; interface I { attribute long a; readonly attribute long b; void f() raises (E, ::E); };",
    );
    let DefKind::Interface(interface) = &def(&model, "I").kind else { panic!() };
    let calls = calls(&model, interface).expect("all have plans");
    let names: Vec<_> = calls.iter().map(|call| (&*call.wire_name, &*call.name)).collect();
    assert_eq!(names, [("_get_a", "a"), ("_set_a", "set_a"), ("_get_b", "b"), ("f", "f")]);
    assert_eq!(calls[3].raises.len(), 1, "each exception once");
}

#[test]
fn borrowed_are_in_parameters_whose_values_have_views() {
    let of = |params: &str| {
        let idl = format!(
            "typedef sequence<string> Words; typedef sequence<octet> B; interface J {{}}; struct Point {{ long x; }}; \
             struct S {{ Words all; }}; struct A {{ any content; }}; struct R {{ J what; }}; \
             struct Tree; typedef sequence<Tree> Trees; struct Tree {{ Trees below; }}; \
             interface I {{ void f({params}); }}; local interface L {{ void f({params}); }};"
        );
        let model = model(&idl);
        let borrowed = |name: &str| {
            let DefKind::Interface(interface) = &def(&model, name).kind else {
                panic!("an interface")
            };
            let calls = calls(&model, interface)?;
            Ok::<_, NotYet>(calls[0].args[0].borrowed)
        };
        assert_ne!(borrowed("L"), Ok(true), "nothing is decoded for it");
        borrowed("I")
    };
    for yes in ["Words p", "S p", "Tree p", "wstring p"] {
        assert_eq!(of(&format!("@borrowed in {yes}")), Ok(true), "{yes}");
    }
    // These types are read without allocating, or the parameter is not annotated.
    for no in [
        "@borrowed in string p",
        "@borrowed in B p",
        "@borrowed in Point p",
        "@borrowed in long p",
        "@borrowed(FALSE) in S p",
        "in S p",
    ] {
        assert_eq!(of(no), Ok(false), "{no}");
    }
    for (wrong, why) in [
        ("@borrowed inout S p", "outside `in` parameters"),
        ("@borrowed out S p", "outside `in` parameters"),
        ("@borrowed in A p", "with an any"),
        ("@borrowed in R p", "reference"),
        ("@borrowed in J p", "reference"),
    ] {
        let error = of(wrong).unwrap_err();
        assert!(error.what.contains(why), "{wrong}: {error:?}");
    }
}

#[test]
fn attributes_in_place_are_octets_and_nothing_else_may_be_marked() {
    let of = |exports: &str| {
        let idl = format!(
            "typedef sequence<octet> B; typedef sequence<octet, 9> Nine; interface I {{ {exports} }};"
        );
        let model = model(&idl);
        let DefKind::Interface(interface) = &def(&model, "I").kind else { panic!("an interface") };
        let calls = calls(&model, interface)?;
        let returned = calls.iter().filter_map(|call| call.returns.as_ref());
        let args = calls.iter().flat_map(|call| &call.args);
        let plans = returned.map(|(_, plan)| plan.clone());
        Ok(plans.chain(args.map(|arg| arg.plan.clone())).collect())
    };
    let all = of("@in_place attribute B a; @in_place readonly attribute B c;");
    assert_eq!(all, Ok::<_, NotYet>(vec![Plan::InPlace; 3]));
    let marked_false: Vec<Plan> = of("@in_place(FALSE) attribute B a;").unwrap();
    assert!(!marked_false.contains(&Plan::InPlace));
    for wrong in [
        "@in_place attribute long a;",
        "@in_place readonly attribute Nine a;",
        "void f(@in_place inout B d);",
        "@in_place void f();",
    ] {
        let error = of(wrong).unwrap_err();
        assert!(error.what.contains("return values and attributes"), "{wrong}: {error:?}");
    }
}
