//! IDL that other compilers accept generates Rust that compiles, with the same meaning.

oxorb::include_idl!("foreign");

use foreign::{Narrow, reopened};

#[test]
fn an_instance_of_a_template_reopens_a_module() {
    let many: reopened::Many = vec![reopened::S { a: 1 }];
    assert_eq!(many[0].a, 1);
}

#[test]
fn a_name_that_is_escaped_does_not_hide_a_type_of_idl_4() {
    let narrow = Narrow { a: -128, b: 127_i8 };
    assert_eq!(narrow.a, i8::MIN);
}

/// Structs have a default with any members, including arrays longer than those that the standard library supports.
#[test]
fn structs_have_defaults_whatever_they_hold() {
    use defaults::{Choice, Colour, Everything};

    let all = Everything::default();
    assert!(all.cells.iter().flatten().all(|&cell| cell == 0));
    assert!(all.rows.iter().all(|row| row.seven == 7 && row.code.is_empty()));
    assert_eq!(all.shade, Colour::Red);
    assert_eq!(all.pick, Choice::Name(String::new()));
    assert!(all.few.is_empty() && all.wide.is_empty());
    assert!(all.target.is_none() && all.perhaps.is_none());
    assert_eq!((all.price.to_string(), all.blob), ("0.00".to_owned(), [0; 64]));
}
