//! Robustness: no input causes a panic or unbounded work in the front end.

use oxorb_idl::diagnostic::{Diagnostics, render_json, render_text};
use oxorb_idl::lex::{Token, TokenKind};
use oxorb_idl::model::{DefKind, Export, Value};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Options, compile_from, compile_indexed, preprocess};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_octets_are_survived(octets in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&octets);
    }

    #[test]
    fn any_mix_of_fragments_is_survived(
        fragments in prop::collection::vec(prop::sample::select(FRAGMENTS), 0..120),
        glue in prop::sample::select(&["", " ", "\n"][..]),
    ) {
        check(fragments.join(glue).as_bytes());
    }

    #[test]
    fn numbers_mean_what_they_say(value in 0..=u64::MAX) {
        for text in [format!("{value}"), format!("{value:#x}"), format!("0{value:o}")] {
            let tokens = run(text.as_bytes()).1;
            prop_assert_eq!(&tokens[1].kind, &TokenKind::Integer(i128::from(value)), "{}", text);
        }
    }

    #[test]
    fn strings_survive_escaping(text in "[^\0]{0,40}") {
        let mut literal = String::from("L\"");
        for c in text.chars() {
            match u32::from(c) {
                _ if c == '"' || c == '\\' => literal.extend(['\\', c]),
                0..0x20 => literal += &format!("\\{:03o}", u32::from(c)),
                _ => literal.push(c),
            }
        }
        literal.push('"');
        let (diagnostics, tokens) = run(literal.as_bytes());
        prop_assert!(diagnostics.is_empty(), "{literal}");
        prop_assert_eq!(&tokens[1].kind, &TokenKind::WStr(text.into()));
    }
}

#[test]
fn small_inputs_that_ask_for_much_are_refused_soon() {
    for text in [
        "#include \"self\"\n#include \"self\"\n".to_owned(),
        "#define A A A\nA\n".repeat(10_000),
        "#define S(x) #x\n#define X(x) S(x)\n".to_owned()
            + &"X(".repeat(80)
            + "\"\\\\\""
            + &")".repeat(80),
        "#define P(a) a##a\n#define X(a) P(a)\n".to_owned()
            + &"X(".repeat(80)
            + "aaa"
            + &")".repeat(80),
        "#define D(x) x x\n".to_owned() + &"D(".repeat(80) + "a" + &")".repeat(80),
        "#define F(x) F(\n".to_owned() + &"F(".repeat(20_000),
        "#define F(x) x\n".to_owned() + &"F(".repeat(20_000),
        "#define E\n#define F(x) x x E\n".to_owned() + &"F(".repeat(90) + &")".repeat(90),
        "#if ".to_owned() + &"(".repeat(50_000),
        "#if ".to_owned() + &"!".repeat(50_000),
        "#if ".to_owned() + &"1?".repeat(50_000),
        "#if 1\n".repeat(50_000),
        "#else\n".repeat(50_000),
        "\\\n".repeat(50_000),
        "/*".repeat(50_000),
        "\"a\" ".repeat(50_000),
        "\"".repeat(50_000),
        "# 1 \"a\"\n".repeat(20_000) + "$",
        "__LINE__ __FILE__ ".repeat(20_000),
        "#define L(".to_owned() + &"a,".repeat(20_000) + "b) x\n",
    ] {
        check(text.as_bytes());
    }
}

/// Constants are computed in 128 bits. The smallest number of 128 bits has no negation.
#[test]
fn results_beyond_128_bits_are_refused() {
    let least = "(-170141183460469231731687303715884105727 - 1)";
    for expression in [format!("-{least}"), format!("{least} / -1"), format!("{least} % -1")] {
        let text = format!("const long c = {expression};\n");
        let files = Memory([(PathBuf::from("a.idl"), text.into_bytes())].into());
        let compiled = compile_from(SourceMap::new(files), &["a.idl"], &Options::default());
        let told = compiled.expect_err(&expression).to_string();
        assert!(told.contains("the result does not fit into any integer type"), "{told}");
    }
}

/// Finding a name among many members must take a lookup, not a comparison with all of them.
#[test]
fn templates_and_bases_may_have_many_members() {
    let count = 20_000;
    let list = |one: &dyn Fn(usize) -> String, glue: &str| {
        let all: Vec<String> = (0..count).map(one).collect();
        all.join(glue)
    };
    let params = list(&|n| format!("typename t{n}, sequence<t{n}> s{n}"), ", ");
    let args = list(&|_| "long, sequence<long>".to_owned(), ", ");
    let (base, own) =
        (list(&|n| format!("long b{n};"), " "), list(&|n| format!("long o{n};"), " "));
    let text = format!(
        "module T<{params}> {{ const long c = 1; }};\nmodule T<{args}> I;\n\
         struct B {{ {base} }};\nstruct D : B {{ {own} }};\n"
    );
    let files = Memory([(PathBuf::from("a.idl"), text.into_bytes())].into());
    if let Err(failed) = compile_from(SourceMap::new(files), &["a.idl"], &Options::default()) {
        panic!("{failed}");
    }
}

#[test]
fn the_names_of_a_declaration_share_its_comment() {
    let text = "// Angle.\ntypedef double a, b;\nstruct S {\n  // Height.\n  long x, y;\n};\n\
                interface I {\n  // Speed.\n  attribute long p, q;\n};\n";
    let files = Memory([(PathBuf::from("a.idl"), text.as_bytes().to_vec())].into());
    let compiled = match compile_from(SourceMap::new(files), &["a.idl"], &Options::default()) {
        Ok(compiled) => compiled,
        Err(failed) => panic!("{failed}"),
    };
    let def = |name: &str| compiled.model.defs().find(|def| def.scoped_name == name).unwrap();
    let DefKind::Struct(body) = &def("S").kind else { panic!("S is a struct") };
    let [x, y] = body.fields.as_slice() else { panic!("{:?}", body.fields) };
    let DefKind::Interface(body) = &def("I").kind else { panic!("I is an interface") };
    let [Export::Attribute(p), Export::Attribute(q)] = body.exports.as_slice() else {
        panic!("{:?}", body.exports);
    };
    let pairs = [(&def("a").doc, &def("b").doc), (&x.doc, &y.doc), (&p.doc, &q.doc)];
    for ((one, other), wanted) in pairs.into_iter().zip(["Angle.", "Height.", "Speed."]) {
        assert_eq!(&**one, wanted);
        assert!(Arc::ptr_eq(one, other), "{wanted}");
    }
}

/// Annotations and strings may be long, so that a copy for each name would take memory out of proportion to the text.
#[test]
fn names_share_the_annotations_of_their_declaration_and_the_text_of_constants() {
    let text = "@unit(\"m\") typedef double a, b;\nstruct S { @unit(\"m\") long x, y; };\n\
                interface I { @unit(\"m\") attribute long p, q; };\n\
                valuetype V { @unit(\"m\") public long s, t; };\n\
                const string c = \"text\";\nconst string d = c;\n";
    let files = Memory([(PathBuf::from("a.idl"), text.as_bytes().to_vec())].into());
    let compiled = match compile_from(SourceMap::new(files), &["a.idl"], &Options::default()) {
        Ok(compiled) => compiled,
        Err(failed) => panic!("{failed}"),
    };
    let def = |name: &str| compiled.model.defs().find(|def| def.scoped_name == name).unwrap();
    let DefKind::Struct(body) = &def("S").kind else { panic!("S is a struct") };
    let [x, y] = body.fields.as_slice() else { panic!("{:?}", body.fields) };
    let DefKind::Interface(body) = &def("I").kind else { panic!("I is an interface") };
    let [Export::Attribute(p), Export::Attribute(q)] = body.exports.as_slice() else {
        panic!("{:?}", body.exports);
    };
    let DefKind::ValueType(body) = &def("V").kind else { panic!("V is a valuetype") };
    let [s, t] = body.state.as_slice() else { panic!("{:?}", body.state) };
    for (one, other) in [
        (&def("a").annotations, &def("b").annotations),
        (&x.annotations, &y.annotations),
        (&p.annotations, &q.annotations),
        (&s.field.annotations, &t.field.annotations),
    ] {
        assert_eq!(one.len(), 1);
        assert!(Arc::ptr_eq(one, other), "{one:?}");
    }
    let value = |name: &str| match &def(name).kind {
        DefKind::Const(constant) => &constant.value,
        other => panic!("{other:?}"),
    };
    let (Value::String(one), Value::String(other)) = (value("c"), value("d")) else {
        panic!("c and d are strings");
    };
    assert!(Arc::ptr_eq(one, other), "{one}");
}

/// Exceptions of several attributes are an error. After it, no attribute has a copy of them.
#[test]
fn the_exceptions_of_several_attributes_are_dropped() {
    let text = "exception E {};\ninterface I { attribute long a, b getraises(E) setraises(E); };\n";
    let files = Memory([(PathBuf::from("a.idl"), text.as_bytes().to_vec())].into());
    let (result, index) = compile_indexed(SourceMap::new(files), &["a.idl"], &Options::default());
    assert!(result.is_err());
    let exception = index.symbols().iter().position(|symbol| symbol.scoped_name == "E").unwrap();
    let places = index.occurrences().iter().filter(|found| found.symbol == exception);
    assert_eq!(places.count(), 1, "its declaration");
}

/// A template with many members or long strings is short, but its instances repeat all of them.
#[test]
fn instances_of_templates_have_limited_size_together() {
    let members: String = (0..100).map(|n| format!("long m{n}; ")).collect();
    let members = format!("struct S {{ {members}}};");
    let string = format!("const string s = \"{}\";", "x".repeat(15_000));
    let mut options = Options::default();
    // A member takes more memory than its text has octets.
    options.limits.instance_octets = 300_000;
    for body in [members, string] {
        let compile = |instances: usize| {
            let instances: String =
                (0..instances).map(|n| format!("module T<long> I{n};\n")).collect();
            let text = format!("module T<typename A> {{ {body} }};\n{instances}");
            let files = Memory([(PathBuf::from("a.idl"), text.into_bytes())].into());
            compile_from(SourceMap::new(files), &["a.idl"], &options)
        };
        if let Err(failed) = compile(10) {
            panic!("{failed}");
        }
        let told = compile(30).expect_err("the limit is exceeded").to_string();
        assert!(told.contains("more than 300000 octets in total"), "{told}");
    }
}

#[test]
fn a_chain_of_macros_is_no_recursion() {
    let mut text = String::new();
    for n in 0..20_000 {
        text += &format!("#define M{n} M{}\n", n + 1);
    }
    let (diagnostics, tokens) = run((text + "M0").as_bytes());
    assert!(diagnostics.is_empty());
    assert!(matches!(&tokens[1].kind, TokenKind::Ident { name, .. } if &**name == "M20000"));
}

/// Fragments of directives, macros and tokens.
const FRAGMENTS: &[&str] = &[
    "#",
    "##",
    "#include ",
    "\"self\"",
    "<self>",
    "#define ",
    "#undef ",
    "#if ",
    "#ifdef ",
    "#ifndef ",
    "#elif ",
    "#else\n",
    "#endif\n",
    "#error ",
    "#line 3 \"x\"\n",
    "#pragma ",
    "prefix ",
    "ID ",
    "version ",
    "once\n",
    "1.0",
    "A",
    "B(x)",
    "B(x, ...)",
    "B",
    "(",
    ")",
    ",",
    "...",
    "__VA_ARGS__",
    "__LINE__",
    "__FILE__",
    "defined",
    "\n",
    "\\\n",
    "\\",
    "\"",
    "'",
    "L'",
    "L\"",
    "/*",
    "*/",
    "//",
    "::",
    "<",
    ">",
    ">>",
    "0x",
    "08",
    "1e",
    "1e+",
    ".5",
    "7d",
    "_",
    "__",
    "x",
    "\u{e9}",
    "\u{20ac}",
    "\0",
    "\\x",
    "\\400",
    "\\u0",
    "TRUE",
    "true",
    "module ",
    "{",
    "}",
    ";",
    "interface ",
    "struct ",
    "union ",
    "switch(",
    "case ",
    "default:",
    "enum ",
    "typedef ",
    "sequence<",
    "long ",
    "const ",
    "=",
    "+",
    "-",
    "~",
    "void ",
    "raises(",
    "valuetype ",
    "abstract ",
    "custom ",
    "public ",
    "private ",
    "factory ",
    "supports ",
    "truncatable ",
    "component ",
    "home ",
    "manages ",
    "provides ",
    "uses multiple ",
    "eventtype ",
    "porttype ",
    "connector ",
    "typename ",
    "alias ",
    "bitset ",
    "bitfield<",
    "bitmask ",
    "map<",
    "fixed<",
    "any ",
    "typeid ",
    "typeprefix ",
    "import ",
    "@annotation ",
    "@bit_bound(",
    "@value(",
    "exception ",
    "@",
];

fn check(octets: &[u8]) {
    oxorb_idl::fuzz::compile_everything(octets);
    let (_, tokens) = run(octets);
    let ends = tokens.iter().filter(|token| token.kind == TokenKind::Eof).count();
    assert_eq!(ends, 1);
    assert_eq!(tokens.last().map(|token| &token.kind), Some(&TokenKind::Eof));
    let mut depth = 0_usize;
    for token in &tokens {
        match token.kind {
            TokenKind::FileStart(_) => depth += 1,
            TokenKind::FileEnd => depth = depth.checked_sub(1).expect("an end without a start"),
            _ => {}
        }
    }
    assert_eq!(depth, 0, "a start without an end");
}

/// Preprocesses and renders; a token limit keeps the test fast.
fn run(octets: &[u8]) -> (Diagnostics, Vec<Token>) {
    let memory = Memory([(PathBuf::from("self"), octets.to_vec())].into());
    let mut map = SourceMap::new(memory);
    let main = map.load_main(Path::new("self")).unwrap();
    let mut options = Options::default();
    options.limits.include_depth = 8;
    options.limits.includes = 50;
    options.limits.macro_octets = 1 << 20;
    options.limits.diagnostics = 5;
    let mut out = Diagnostics::with_limit(options.limits.diagnostics);
    let tokens = preprocess(&mut map, main, &options, &mut out);
    render_text(&out, &map, false);
    render_json(&out, &map);
    (out, tokens)
}
