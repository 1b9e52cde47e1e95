//! Large sources of every recursive shape, and valid IDL with small errors.
//!
//! Unbounded recursion would overflow the stack here; quadratic time would be noticed long before the test ends.

use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Compiled, Failed, Options, compile_from, fuzz};
use proptest::prelude::*;
use std::path::PathBuf;

const MANY: usize = 5_000;

#[test]
fn long_chains_compile() {
    let typedefs = repeat(|i| format!("typedef A{i} A{}; const A{} c{i} = {i};", i + 1, i + 1));
    let structs = repeat(|i| format!("struct S{} {{ S{i} member; }};", i + 1));
    let cases = repeat(|i| format!("case {i}: "));
    let forwards =
        repeat(|i| format!("interface F{i};")) + &repeat(|i| format!("interface F{i} {{}};"));
    let sources = [
        format!("typedef long A0; {typedefs}"),
        format!("struct S0 {{ long a; }}; {structs} interface I {{ void f(in S{MANY} s1); }};"),
        format!("union U switch (long) {{ {cases} long a; }};"),
        format!("const long sum = {} 1;", "1 + ".repeat(MANY)),
        forwards,
        repeat(|i| format!("module T{i}<typename A> {{ typedef A b; }}; module T{i}<long> m{i};")),
        repeat(|i| format!("@annotation A{i} {{ long v default {i}; }}; @A{i} struct s{i} {{}};")),
        repeat(|i| {
            format!(
                "valuetype V{i}; valuetype W{i} {{ public V{i} v; }}; valuetype V{i} {{ public W{i} w; }};"
            )
        }),
    ];
    for source in sources {
        if let Err(failed) = compile(&source) {
            panic!("{failed}");
        }
    }
}

#[test]
fn deep_nesting_and_long_inheritance_are_refused() {
    let bases = repeat(|i| format!("interface B{} : B{i} {{}};", i + 1));
    let kind = |word: &str| repeat(|i| format!("{word} B{} : B{i} {{}};", i + 1));
    let sources = [
        (format!("interface B0 {{}}; {bases}"), "E0606"),
        (format!("valuetype B0 {{}}; {}", kind("valuetype")), "E0606"),
        (format!("component B0 {{}}; {}", kind("component")), "E0606"),
        (format!("struct B0 {{}}; {}", kind("struct")), "E0606"),
        (format!("bitset B0 {{}}; {}", kind("bitset")), "E0606"),
        (format!("typedef {}long{} x;", "map<long, ".repeat(MANY), "> ".repeat(MANY)), "E0320"),
        (format!("{} {}", repeat(|i| format!("module m{i} {{ ")), "}; ".repeat(MANY)), "E0320"),
        (format!("typedef {}long{} x;", "sequence<".repeat(MANY), "> ".repeat(MANY)), "E0320"),
        (format!("const long x = {}1{};", "(".repeat(MANY), ")".repeat(MANY)), "E0320"),
        (
            format!(
                "typedef {}long a;{}",
                repeat(|i| format!("struct s{i} {{ ")),
                repeat(|i| format!("}} m{i};"))
            ),
            "E0320",
        ),
    ];
    for (source, code) in sources {
        let failed = compile(&source).expect_err(code);
        let mut codes: Vec<&str> =
            failed.report.diagnostics.iter().map(|found| found.problem.code().0).collect();
        codes.dedup();
        assert_eq!(codes, [code], "{failed}");
    }
}

/// Valid IDL from the golden cases, to insert errors into.
const GOOD: &[&str] = &[
    include_str!("../../../../tests/idl-ui/ok/bank.idl"),
    include_str!("../../../../tests/idl-ui/ok/constants.idl"),
    include_str!("../../../../tests/idl-ui/ok/scopes.idl"),
    include_str!("../../../../tests/idl-ui/ok/types.idl"),
    include_str!("../../../../tests/idl-ui/ok/unions.idl"),
    include_str!("../../../../tests/idl-ui/ok/whole_language.idl"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_slip_is_survived(
        text in prop::sample::select(GOOD),
        slips in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4), 1..6),
    ) {
        let mut words: Vec<&str> = words(text);
        for (at, other, how) in slips {
            let (at, other) = (at.index(words.len()), other.index(words.len()));
            match how {
                0 => words[at] = " ",
                1 => words[at] = words[other],
                2 => words.swap(at, other),
                _ => words.insert(at, words[other]),
            }
        }
        fuzz::compile_everything(words.concat().as_bytes());
    }
}

/// Returns the text split before and after every name, number and other character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let wordy = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = match wordy(first) {
            true => rest.find(|c| !wordy(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

fn repeat(line: impl Fn(usize) -> String) -> String {
    (0..MANY).map(|i| line(i) + "\n").collect()
}

fn compile(source: &str) -> Result<Compiled, Failed> {
    let path = PathBuf::from("shape.idl");
    let memory = Memory([(path.clone(), source.as_bytes().to_vec())].into());
    compile_from(SourceMap::new(memory), &[path], &Options::default())
}
