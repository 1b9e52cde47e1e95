//! What must be refused, case by case: what other compilers and their tests agree on.
//!
//! A case is one line of IDL with one thing wrong; what it is called is a code. How each is told in full is shown by the
//! golden cases in `tests/idl-ui/fail`.

use std::collections::BTreeSet;

use oxorb_idl::diagnostic::Severity;
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Options, compile_from};

/// Number of the case, the code it must be refused with, and the IDL.
const CASES: &[(u32, &str, &str)] = &[
    (1, "E0401", "struct S { Nothing a; };"),
    (1, "E0401", "interface I : Nothing {};"),
    (1, "E0401", "interface I { void f() raises (Nothing); };"),
    (1, "E0401", "module m {}; struct S { m::Nothing a; };"),
    (2, "E0410", "struct S;"),
    (2, "E0410", "union U;"),
    (2, "E0410", "valuetype V;"),
    (2, "E0412", "union I; interface I {};"),
    (2, "E0412", "local interface I; interface I {};"),
    (2, "E0412", "abstract interface I; interface I {};"),
    (3, "E0407", "struct S { long a; }; interface I : S {};"),
    (3, "E0601", "interface I; interface J : I {};"),
    (
        4,
        "E0407",
        "struct S { long a; }; interface I { void f() raises (S); };",
    ),
    (
        4,
        "E0407",
        "enum E { a }; interface I { void f() raises (E); };",
    ),
    (
        4,
        "E0407",
        "typedef long T; interface I { void f() raises (T); };",
    ),
    (
        4,
        "E0407",
        "interface Fwd; interface I { void f() raises (Fwd); };",
    ),
    (5, "E0403", "interface I { void f(in long a, in long a); };"),
    (5, "E0403", "struct S { long _l, m, _l; };"),
    (5, "E0403", "exception X { long a; long a; };"),
    (5, "E0403", "enum E { a, b, a };"),
    (5, "E0403", "interface I { attribute long _l; void _l(); };"),
    (
        6,
        "E0408",
        "exception X {}; interface I { void f(in X a); };",
    ),
    (6, "E0408", "exception X {}; interface I { X f(); };"),
    (
        6,
        "E0408",
        "exception X {}; interface I { attribute X a; };",
    ),
    (6, "E0408", "exception X {}; struct S { X a; };"),
    (
        6,
        "E0408",
        "exception X {}; union U switch (long) { case 1: X a; };",
    ),
    (
        7,
        "E0404",
        "typedef long Foo; interface I { void f(in Foo foo); };",
    ),
    (7, "E0403", "const long Thing = 1; interface thing {};"),
    (8, "E0510", "typedef sequence<long, 0> S;"),
    (8, "E0510", "typedef string<-1> S;"),
    (8, "E0510", "typedef long A[0];"),
    (9, "E0501", "const octet c = 256;"),
    (9, "E0502", "const short c = \"a\";"),
    (9, "E0208", "const double c = 14e;"),
    (9, "E0207", "const long c = 08;"),
    (9, "E0502", "const double c = 14;"),
    (9, "E0504", "const double c = 1.5 + 2;"),
    (9, "E0503", "const long c = 1 / 0;"),
    (9, "E0214", "const char c = 'ab';"),
    (9, "E0502", "const string c = L\"a\";"),
    (10, "E0501", "const unsigned short foo = -1;"),
    (
        11,
        "E0622",
        "union U switch (long) { case 1: long a; case 1: long b; };",
    ),
    (
        11,
        "E0623",
        "union U switch (long) { default: long a; default: long b; };",
    ),
    (
        11,
        "E0624",
        "union U switch (boolean) { case TRUE: long a; case FALSE: long b; default: long c; };",
    ),
    (12, "E0613", "interface I { void f(in sequence<long> a); };"),
    (12, "E0613", "interface I { string<10> f(); };"),
    (12, "E0514", "const fixed<5, 2> c = 1.25d;"),
    (13, "E0206", "module ATTRIBUTE { const long c = 1; };"),
    (14, "E0309", "struct S { a; };"),
    (14, "E0205", "typedef long _;"),
    (15, "E0122", "interface I {};\n#pragma version I 1.2.1"),
    (
        15,
        "E0704",
        "interface I {};\n#pragma version I 1.1\n#pragma version I 1.2",
    ),
    (
        15,
        "E0702",
        "interface I {};\n#pragma ID I \"IDL:a:1.0\"\n#pragma ID I \"IDL:b:1.0\"",
    ),
    (16, "E0102", "#error no"),
    (16, "E0103", "#include \"missing.idl\""),
    (16, "E0201", "/* no end"),
    (16, "E0116", "#if 1"),
    (17, "E0401", "module m { typeprefix Nothing \"a.org\"; };"),
    (
        17,
        "E0702",
        "interface I {}; typeid I \"IDL:a:1.0\"; typeid I \"IDL:b:1.0\";",
    ),
    (18, "E0675", "bitset B { bitfield<0> a; };"),
    (18, "E0675", "bitset B { bitfield<65> a; };"),
    (
        18,
        "E0676",
        "bitset Bits { bitfield<40> a; bitfield<40> b; };",
    ),
    (
        18,
        "E0407",
        "struct S { long a; }; bitset B : S { bitfield<1> a; };",
    ),
    (19, "E0311", "bitmask B {};"),
    (19, "E0670", "@bit_bound(65) bitmask B { a };"),
    (19, "E0670", "@bit_bound(33) enum E { a };"),
    (19, "E0680", "@bit_bound enum E { a };"),
    (20, "E0510", "typedef map<long, long, 0> M;"),
    (
        21,
        "E0640",
        "struct A { long x; }; struct B { long y; }; struct C : A, B {};",
    ),
    (21, "E0407", "interface I {}; struct S : I { long a; };"),
    (21, "E0401", "struct S : S { long a; };"),
    (
        22,
        "E0630",
        "valuetype V { public long a; }; valuetype B V;",
    ),
    (
        22,
        "E0631",
        "valuetype V { public long a; }; custom valuetype W : truncatable V {};",
    ),
    (
        22,
        "E0633",
        "custom valuetype V { public long a; }; valuetype W : V {};",
    ),
    (
        22,
        "E0634",
        "valuetype V { public long a; }; valuetype W { public long a; }; valuetype X : V, W {};",
    ),
    (22, "E0635", "abstract valuetype V { public long a; };"),
    (
        22,
        "E0636",
        "valuetype V { public long a; }; abstract valuetype W : V {};",
    ),
    (
        22,
        "E0637",
        "interface I {}; interface J {}; valuetype V supports I, J { public long a; };",
    ),
    (23, "E0603", "interface I {}; abstract interface J : I {};"),
    (
        23,
        "E0611",
        "local interface L {}; interface I { void f(in L a); };",
    ),
    (23, "E0610", "interface I { oneway long f(); };"),
    (23, "E0610", "interface I { oneway void f(out long a); };"),
    (
        23,
        "E0610",
        "exception X {}; interface I { oneway void f() raises (X); };",
    ),
    (23, "E0403", "interface I { void f(); void f(in long a); };"),
    (
        23,
        "E0403",
        "interface I { void f(); }; interface J : I { void f(); };",
    ),
    (23, "E0602", "interface I {}; interface J : I, I {};"),
    (24, "E0301", "interface I { void f() context (a); };"),
    (24, "E0612", "struct S { S a; };"),
    (
        24,
        "E0612",
        "struct S; struct T { S a; }; struct S { long a; };",
    ),
    (
        25,
        "E0401",
        "module A { typedef long mylong; module B { module A { typedef short s; }; typedef A::mylong x; }; };",
    ),
    (
        26,
        "E0650",
        "component A {}; component B {}; component C : A, B {};",
    ),
    (
        26,
        "E0651",
        "component A; home H manages A {}; component A {};",
    ),
    (
        26,
        "E0652",
        "struct S { long a; }; component C { provides S f; };",
    ),
    (
        26,
        "E0407",
        "component A {}; interface K {}; home H manages A primarykey K {};",
    ),
    (
        27,
        "E0660",
        "module T<typename A> { typedef A x; }; module T<long, long> I;",
    ),
    (
        27,
        "E0661",
        "module T<interface A> { typedef sequence<A> x; }; module T<long> I;",
    ),
    (
        27,
        "E0662",
        "module T<typename A, typename A> { typedef A x; };",
    ),
    (
        27,
        "E0664",
        "module T<typename A> { typedef A x; }; struct S { T::x a; };",
    ),
];

#[test]
fn every_case_is_refused_with_its_code() {
    let mut wrong = Vec::new();
    for (number, code, idl) in CASES {
        let files = Memory([("a.idl".into(), idl.as_bytes().to_vec())].into());
        let found = match compile_from(SourceMap::new(files), &["a.idl"], &Options::default()) {
            Ok(_) => BTreeSet::new(),
            Err(failed) => failed
                .report
                .diagnostics
                .iter()
                .filter(|found| found.problem.severity() == Severity::Error)
                .map(|found| found.problem.code().0)
                .collect(),
        };
        if !found.contains(code) {
            wrong.push(format!("({number}, {found:?}, {idl:?}), not {code}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_case_of_the_table_is_here() {
    let numbers: BTreeSet<u32> = CASES.iter().map(|(number, ..)| *number).collect();
    assert!(numbers.into_iter().eq(1..=27));
}
