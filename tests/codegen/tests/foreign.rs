//! IDL that other compilers take gives Rust that compiles, and means what they mean.

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
