//! Conversion of IDL text to type codes and signatures.

use oxorb_idl::source::{Memory, SourceMap};
use oxorb_ifr::types::{Types, Unsupported};

fn types(idl: &str) -> Types {
    let files = Memory([("a.idl".into(), idl.as_bytes().to_vec())].into());
    let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default());
    Types::new(compiled.unwrap_or_else(|failed| panic!("{failed}")).model)
}

/// Returns the type code of `m::NAME`, as IDL.
fn shown(idl: &str, name: &str) -> String {
    let types = types(&format!("module m {{ {idl} }};"));
    types.by_name(&format!("m::{name}")).unwrap().to_string()
}

#[test]
fn simple_and_constructed_types() {
    let all = "typedef sequence<octet, 4> Tiny; enum Level { low, high };
        struct All { short a; unsigned long long b; long double c; wchar d; octet e; any f; Object g; string<5> h;
                     wstring i; fixed<5, 2> j; Tiny k; long l[2][3]; Level m; };";
    assert_eq!(
        shown(all, "All"),
        "struct All { short a; unsigned long long b; long double c; wchar d; octet e; any f; Object g; string<5> h; \
         wstring i; fixed<5, 2> j; Tiny k; long l[2][3]; Level m; }"
    );
    assert_eq!(shown(all, "Tiny"), "typedef sequence<octet, 4> Tiny");
    assert_eq!(shown("exception E { long why; };", "E"), "exception E { long why; }");
    assert_eq!(shown("interface I {};", "I"), "interface I");
    assert_eq!(shown("abstract interface I {};", "I"), "abstract interface I");
}

#[test]
fn unions_keep_their_labels() {
    let union =
        "enum E { a, b, c }; union U switch (E) { case a: case b: long n; default: string s; };";
    let whole = "union U switch (E) { case a: case b: long n; default: string s; }";
    assert_eq!(shown(union, "U"), whole);
    // Labels are the numbers on the wire.
    let union = "enum E { @value(10) a, @value(20) b }; union U switch (E) { case a: long n; case b: string s; };";
    let whole = "union U switch (unsigned long) { case 10: long n; case 20: string s; }";
    assert_eq!(shown(union, "U").replace("switch (E)", "switch (unsigned long)"), whole);
    assert_eq!(shown("@bit_bound(32) enum E { a, b };", "E"), "enum E { a, b }");
    assert_eq!(shown("@bit_bound(8) enum E { a, b };", "E"), "typedef octet E");
    let union = "union U switch (int8) { case -1: case 1: long n; };";
    assert_eq!(shown(union, "U"), "union U switch (octet) { case 255: case 1: long n; }");
    let union = "union U switch (char) { case 'x': long n; };";
    assert_eq!(shown(union, "U"), "union U switch (char) { case 'x': long n; }");
}

#[test]
fn optional_members_have_no_type_code() {
    for idl in [
        "struct S { @optional long a; };",
        "union S switch (long) { case 1: @optional long a; };",
        "valuetype S { @optional public long a; };",
    ] {
        let refused = types(&format!("module m {{ {idl} }};")).by_name("m::S").unwrap_err();
        assert!(matches!(refused, Unsupported::NoTypeCode(..)), "{idl}: {refused}");
    }
}

#[test]
fn types_that_contain_themselves_are_whole() {
    let idl = "module m {
        struct Tree; typedef sequence<Tree> Trees; struct Tree { long v; Trees kids; };
        struct B; typedef sequence<B> Bs; struct A { Bs children; }; typedef sequence<A> As; struct B { As parents; };
        valuetype Node { public Node next; private long v; };
    };";
    let types = types(idl);
    for name in ["m::Tree", "m::Trees", "m::A", "m::B", "m::As", "m::Bs", "m::Node"] {
        let made = types.by_name(name).unwrap();
        assert!(made.is_complete(), "{made}");
        assert_eq!(types.by_name(name).unwrap(), made);
    }
    let tree = types.by_name("m::Tree").unwrap();
    assert_eq!(tree.as_ref().at("kids[0].kids[0].v").unwrap().to_string(), "long");
}

#[test]
fn valuetypes() {
    let idl = "valuetype B { public long x; }; valuetype V : truncatable B { private string s; };
        valuetype Text string; abstract valuetype A {}; valuetype W : A { public long y; };";
    assert_eq!(shown(idl, "V"), "valuetype V : truncatable B { private string s; }");
    assert_eq!(shown(idl, "Text"), "valuetype Text string");
    assert_eq!(shown(idl, "W"), "valuetype W { public long y; }");
}

#[test]
fn what_came_after_type_codes_is_what_is_sent() {
    assert_eq!(shown("bitmask F { a, b };", "F"), "typedef unsigned long F");
    assert_eq!(shown("@bit_bound(8) bitmask F { a, b };", "F"), "typedef octet F");
    let map = "typedef map<long, string> Names;";
    let types = types(&format!("module m {{ {map} }};"));
    let map = types.by_name("m::Names").unwrap();
    let members: Vec<String> = map
        .resolved()
        .as_ref()
        .content()
        .unwrap()
        .members()
        .map(|member| format!("{} {}", member.ty, member.name))
        .collect();
    assert_eq!(members, ["long key", "string value"]);
}

#[test]
fn an_interface_has_what_it_inherits() {
    let types = types(
        "module m { exception Busy {};
            interface Root { readonly attribute long depth; };
            interface Left : Root {}; interface Right : Root { void go(in long how) raises (Busy); };
            interface Desk : Left, Right { attribute string owner setraises (Busy);
              oneway void tell(in string what); void who(inout long a, out any b) context (\"user\"); }; };",
    );
    let desk = types.interface("::m::Desk").unwrap();
    let shown: Vec<String> = desk.operations.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "string _get_owner()",
            "void _set_owner(in string owner) raises (Busy)",
            "oneway void tell(in string what)",
            "void who(inout long a, out any b)",
            "void go(in long how) raises (Busy)",
            "long _get_depth()",
        ]
    );
    assert_eq!(desk.signature("who").unwrap().context, ["user"]);
    assert!(desk.attribute("depth").unwrap().readonly);
    assert!(desk.is_a("IDL:m/Root:1.0") && !desk.is_a("IDL:m/Chair:1.0"));
    assert_eq!(types.interface("IDL:m/Desk:1.0").unwrap().ids.len(), 4);
}

#[test]
fn what_is_not_there_is_said() {
    let types = types("module m { struct S { long x; }; interface I; const long C = 1; };");
    let error = |name: &str| types.interface(name).unwrap_err();
    assert_eq!(error("m::X").to_string(), "there is no m::X in the IDL");
    assert_eq!(error("m::S"), Unsupported::NotAnInterface("m::S".to_owned()));
    assert_eq!(error("m::I"), Unsupported::Undefined("m::I".to_owned()));
    assert_eq!(types.by_name("m::C").unwrap_err(), Unsupported::NotAType("m::C".to_owned()));
}
