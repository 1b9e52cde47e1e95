//! Values of boolean annotations.

use oxorb_idl::model::{DefKind, Export, Model};
use oxorb_idl::source::{Memory, SourceMap};
use oxorb_idl::{Options, compile_from, print};

const SOURCE: &str = "
module bank {
    const boolean NO = FALSE;
    const boolean ALSO_NO = NO;
    const boolean YES = TRUE;
    enum Colour { @default_literal(NO) red, @default_literal(::bank::YES) green };
    struct Account {
        @key(NO) @optional(ALSO_NO) @external(NO) long first;
        @key(value = bank::ALSO_NO) @optional(FALSE) @external(FALSE) long second;
        @key(YES) @optional(YES) @external(YES) long third;
        @key @optional @external long fourth;
    };
    interface Teller {
        @oneway(NO) void wait();
        @oneway(YES) void post();
    };
    valuetype Purse {
        @mutating(NO) void look();
        @mutating(YES) void spend();
    };
};
";

#[test]
fn a_constant_that_is_false_does_not_set_a_boolean_annotation() {
    let model = compile(SOURCE);
    let DefKind::Struct(account) = kind(&model, "bank::Account") else { panic!("no struct") };
    let set: Vec<_> = account.fields.iter().map(|field| (field.key, field.optional)).collect();
    assert_eq!(set, [(false, false), (false, false), (true, true), (true, true)]);
    let DefKind::Enum(colour) = kind(&model, "bank::Colour") else { panic!("no enum") };
    assert_eq!(colour.default, Some(1));
    let DefKind::Interface(teller) = kind(&model, "bank::Teller") else { panic!("no interface") };
    assert_eq!(flags(&teller.exports), [("wait", false, false), ("post", true, false)]);
    let DefKind::ValueType(purse) = kind(&model, "bank::Purse") else { panic!("no valuetype") };
    assert_eq!(flags(&purse.exports), [("look", false, false), ("spend", false, true)]);
}

#[test]
fn printed_idl_keeps_an_external_annotation_only_if_it_is_set() {
    let printed = print::print(&compile(SOURCE));
    let members = printed.lines().filter(|line| line.contains("long "));
    let external: Vec<_> = members.map(|line| line.contains("@external")).collect();
    assert_eq!(external, [false, false, true, true], "{printed}");
}

fn kind<'m>(model: &'m Model, scoped_name: &str) -> &'m DefKind {
    let def = model.defs().find(|def| def.scoped_name == scoped_name);
    &def.unwrap_or_else(|| panic!("no {scoped_name}")).kind
}

/// Returns the names of operations, and whether they are oneway and mutating.
fn flags(exports: &[Export]) -> Vec<(&str, bool, bool)> {
    let operations = exports.iter().map(|export| match export {
        Export::Operation(of) => (of.name.as_str(), of.oneway, of.mutating),
        Export::Attribute(of) => panic!("attribute {}", of.name),
    });
    operations.collect()
}

fn compile(text: &str) -> Model {
    let files = Memory([("a.idl".into(), text.as_bytes().to_vec())].into());
    match compile_from(SourceMap::new(files), &["a.idl"], &Options::default()) {
        Ok(compiled) => compiled.model,
        Err(failed) => panic!("{failed}"),
    }
}
