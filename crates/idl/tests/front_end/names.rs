//! The index of names: declarations and uses, with their places.

use oxorb_idl::index::{Index, Occurrence, Symbol};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Options, Report, compile_indexed};
use std::sync::Arc;

/// Index of some files, of which the first one is compiled.
struct Indexed {
    report: Report,
    index: Index,
}

impl Indexed {
    fn of(files: &[(&str, &str)]) -> Indexed {
        let all = files.iter().map(|(name, text)| ((*name).into(), (*text).into()));
        let sources = SourceMap::new(Memory(all.collect()));
        let (result, index) = compile_indexed(sources, &[files[0].0], &Options::default());
        let report = match result {
            Ok(compiled) => compiled.report,
            Err(failed) => failed.report,
        };
        Indexed { report, index }
    }

    /// Returns the only symbol with this scoped name.
    fn symbol(&self, scoped_name: &str) -> &Symbol {
        let all = self.index.symbols().iter();
        let found: Vec<_> = all.filter(|symbol| symbol.scoped_name == scoped_name).collect();
        assert_eq!(found.len(), 1, "{scoped_name}: {:?}", self.index.symbols());
        found[0]
    }

    fn occurrences(&self, scoped_name: &str) -> impl Iterator<Item = &Occurrence> {
        let of = self.symbol(scoped_name).span;
        let all = self.index.occurrences().iter();
        all.filter(move |found| self.index.symbols()[found.symbol].span == of)
    }

    /// Returns the places of a symbol as `file:line:column`, with `!` after a declaration, and `~` after a place whose
    /// text is not the name.
    fn places(&self, scoped_name: &str) -> Vec<String> {
        let sources = &self.report.sources;
        let place = |found: &Occurrence| {
            let declares = if found.declares.is_some() { "!" } else { "" };
            let literal = if found.is_literal { "" } else { "~" };
            format!("{}{declares}{literal}", sources.location(found.span))
        };
        self.occurrences(scoped_name).map(place).collect()
    }
}

#[test]
fn declarations_and_uses_share_a_symbol_across_includes() {
    let indexed = Indexed::of(&[
        ("a.idl", "#include \"b.idl\"\nmodule m { interface I : J { attribute ::m::J x; }; };"),
        ("b.idl", "module m {\n  interface J;\n  typedef sequence<J> Js;\n  interface J {};\n};"),
    ]);
    assert!(!indexed.report.diagnostics.has_errors());
    let mut places = indexed.places("m::J");
    places.sort_unstable();
    assert_eq!(places, ["a.idl:2:26", "a.idl:2:45", "b.idl:2:13!", "b.idl:3:20", "b.idl:4:13!"]);
    assert_eq!(indexed.places("m").len(), 3);
    let symbol = indexed.symbol("m::J");
    assert_eq!(indexed.report.sources.location(symbol.span).to_string(), "b.idl:4:13");
    assert_eq!(indexed.report.sources.snippet(symbol.whole), "interface J {};");
    assert_eq!(symbol.repository_id.as_deref(), Some("IDL:m/J:1.0"));
    assert_eq!(symbol.what, "an interface");
}

#[test]
fn members_have_their_own_text_and_comment() {
    let text = "struct S {\n  // Height.\n  long a, b[2];\n};\n\
                union V switch (E2) { case one: long u; };\n\
                interface I {\n  /* Does it. */ void f(in long p) raises (X);\n};\n";
    let text = format!("enum E2 {{ one, two }};\nexception X {{}};\n{text}");
    let indexed = Indexed::of(&[("a.idl", &text)]);
    assert!(!indexed.report.diagnostics.has_errors(), "{}", indexed.report.text(false));
    let shown = |name: &str| {
        let symbol = indexed.symbol(name);
        (indexed.report.sources.snippet(symbol.whole), &*symbol.doc, symbol.what)
    };
    assert_eq!(shown("S::b"), ("long a, b[2];", "Height.", "a member"));
    // A long comment is not copied for each name.
    assert!(Arc::ptr_eq(&indexed.symbol("S::a").doc, &indexed.symbol("S::b").doc));
    assert_eq!(shown("V::u"), ("case one: long u;", "", "a member"));
    assert_eq!(shown("I::f"), ("void f(in long p) raises (X);", "Does it.", "an operation"));
    assert_eq!(shown("p"), ("in long p", "", "a parameter"));
    assert_eq!(shown("one"), ("one", "", "an enumerator"));
    assert_eq!(indexed.places("one"), ["a.idl:1:11!", "a.idl:7:28"]);
}

#[test]
fn erroneous_sources_have_an_index() {
    let text =
        "struct S { long a; };\ntypedef Nowhere N;\ntypedef S T;\ntypedef N M;\nstruct Half {";
    let indexed = Indexed::of(&[("a.idl", text)]);
    assert!(indexed.report.diagnostics.has_errors());
    assert_eq!(indexed.places("S"), ["a.idl:1:8!", "a.idl:3:9"]);
    assert_eq!(indexed.places("N"), ["a.idl:2:17!", "a.idl:4:9"]);
    assert_eq!(indexed.symbol("N").repository_id, None);
    assert_eq!(indexed.symbol("T").repository_id.as_deref(), Some("IDL:T:1.0"));
}

#[test]
fn pragmas_imports_and_escapes_name_declarations() {
    let text = "module m { interface _attribute {}; };\n#pragma ID m::_attribute \"IDL:x:1.0\"\n\
                import ::m;\ntypeid m::_attribute \"IDL:x:1.0\";\n";
    let indexed = Indexed::of(&[("a.idl", text)]);
    assert!(!indexed.report.diagnostics.has_errors(), "{}", indexed.report.text(false));
    assert_eq!(indexed.places("m::attribute"), ["a.idl:1:22!", "a.idl:2:15", "a.idl:4:11"]);
    assert_eq!(indexed.places("m"), ["a.idl:1:8!", "a.idl:2:12", "a.idl:3:10", "a.idl:4:8"]);
    assert_eq!(indexed.symbol("m::attribute").repository_id.as_deref(), Some("IDL:x:1.0"));
}

#[test]
fn names_that_macros_produce_are_not_literal() {
    let text = "#define NAME I\n#define OF(n) interface n {}\ninterface NAME {};\ntypedef I A;\nOF(J);\ntypedef J B;\n";
    let indexed = Indexed::of(&[("a.idl", text)]);
    assert!(!indexed.report.diagnostics.has_errors(), "{}", indexed.report.text(false));
    assert_eq!(indexed.places("I"), ["a.idl:3:11!~", "a.idl:4:9"]);
    assert_eq!(indexed.places("J"), ["a.idl:5:4!", "a.idl:6:9"]);
}

#[test]
fn templates_are_indexed_as_they_are_written() {
    let text = "struct S { long a; };\nmodule T<typename X, sequence<X> Xs> {\n  struct Pair { X one; Xs all; };\n};\n\
                module T<S, sequence<S> > Of;\nmodule T<long, sequence<long> > Longs;\n\
                typedef Of::Pair P;\ntypedef Longs::Pair Q;\n";
    let indexed = Indexed::of(&[("a.idl", text)]);
    assert!(!indexed.report.diagnostics.has_errors(), "{}", indexed.report.text(false));
    assert_eq!(indexed.places("S"), ["a.idl:1:8!", "a.idl:5:10", "a.idl:5:22"]);
    assert_eq!(indexed.places("T::Pair"), ["a.idl:3:10!", "a.idl:7:13", "a.idl:8:16"]);
    assert_eq!(indexed.places("X"), ["a.idl:2:19!", "a.idl:2:31", "a.idl:3:17"]);
    assert_eq!(indexed.places("Of"), ["a.idl:5:27!", "a.idl:7:9"]);
    assert_eq!(indexed.symbol("T::Pair").repository_id, None);
}

/// Definitions and ids contain the names of the scopes around them: names of any length would take memory that grows
/// with the square of the source.
#[test]
fn long_names_are_refused() {
    let codes = |text: &str| -> Vec<&'static str> {
        let report = Indexed::of(&[("a.idl", text)]).report;
        report.diagnostics.iter().map(|found| found.problem.code().0).collect()
    };
    let (most, half) = ("n".repeat(1024), "n".repeat(600));
    let scopes = format!(
        "module m{half} {{\n  struct s{half} {{ long a; }};\n  typedef long t{half};\n  \
         interface i{half} {{ struct r{half} {{ long a; }}; }};\n}};\n"
    );
    let cases: [(String, &[&str]); 10] = [
        (format!("struct {most} {{ long a; }}; typedef {most} t;"), &[]),
        (format!("struct _{most} {{ long a; }};"), &[]),
        (format!("struct {most}x {{ long a; }};"), &["E0224"]),
        (format!("struct s {{ long {most}x; }};"), &["E0224"]),
        // One error is enough for all scoped names.
        (scopes.clone(), &["E0433"]),
        (format!("#pragma prefix \"{most}\"\ntypedef long t;\n"), &[]),
        (format!("#pragma prefix \"{most}x\"\ntypedef long t;\n"), &["E0712"]),
        (format!("module m {{ typedef long t; }}; typeprefix m \"{most}x\";"), &["E0712"]),
        (format!("typedef long t;\n#pragma ID t \"IDL:{most}:1.0\"\n"), &["E0712"]),
        (format!("typedef long t; typeid t \"IDL:{most}:1.0\";"), &["E0712"]),
    ];
    for (text, expected) in cases {
        assert_eq!(codes(&text), expected, "{text:.40}");
    }
    let named = format!("struct {most}x {{ long a; }};\n{scopes}");
    let indexed = Indexed::of(&[("a.idl", &named)]);
    let symbols = indexed.index.symbols().iter();
    let lengths: Vec<usize> = symbols.map(|symbol| symbol.scoped_name.len()).collect();
    assert_eq!(lengths, [1024, 1027, 601, 601, 604, 601, 601, 601, 604]);
}
