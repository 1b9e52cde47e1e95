//! Errors are sentences in `Display` and in `Debug`, and name the address concerned. (U3, N11)
//!
//! Independent of `OXORB_TEST_TRANSPORT`: the texts compared contain addresses of TCP.

use std::collections::HashSet;
use std::error::Error;

use oxorb::client::Raises;
use oxorb::{Interface as _, ObjectRef, Orb, SystemException, SystemExceptionKind};
use oxorb_testkit::net::free_port;

fn unreachable(orb: &Orb, port: u16) -> SystemException {
    let object = orb.string_to_object(&format!("corbaloc::127.0.0.1:{port}/Account"));
    let object: ObjectRef = object.expect("a good address");
    object.non_existent().expect_err("nobody listens there")
}

#[test]
fn an_unreachable_address_is_named() {
    let orb = Orb::builder().build().expect("an ORB");
    let port = free_port();
    let exception = unreachable(&orb, port);
    assert_eq!(exception.kind, SystemExceptionKind::Transient);
    let address = format!("127.0.0.1:{port}");
    assert!(exception.to_string().contains(&address), "{exception}");
    assert!(format!("{exception:?}").contains(&address), "{exception:?}");
    let error: Box<dyn Error> = exception.into();
    assert!(error.to_string().contains(&address), "{error}");
}

#[test]
fn each_exception_names_its_own_address_in_every_thread() {
    let orb = Orb::builder().build().expect("an ORB");
    let ports: HashSet<u16> = (0..3).map(|_| free_port()).collect();
    let failed: Vec<_> = ports
        .iter()
        .map(|&port| {
            let orb = orb.clone();
            let thread = std::thread::spawn(move || unreachable(&orb, port));
            (port, thread.join().expect("no panic"))
        })
        .collect();
    for (port, exception) in failed {
        let text = exception.to_string();
        assert!(text.contains(&format!("127.0.0.1:{port}")), "{port}: {text}");
    }
}

#[test]
fn exceptions_are_equal_wherever_they_were_raised() {
    let orb = Orb::builder().build().expect("an ORB");
    let (one, other) = (unreachable(&orb, free_port()), unreachable(&orb, free_port()));
    assert_eq!(one, other);
    let found: Option<&SystemException> = one.exception();
    assert_eq!(found, Some(&other));
}

/// Checks that a text is a sentence: one line, several words, no forms of code.
#[track_caller]
fn is_sentence(error: &dyn Error) {
    let text = error.to_string();
    assert_eq!(format!("{error:?}"), text, "Debug is what Display is");
    assert!(text.split(' ').count() > 2, "{text}");
    for bad in ["\n", " { ", "Some(", "None", "Error(", "::Err"] {
        assert!(!text.contains(bad), "{bad:?} in {text}");
    }
}

/// `cargo xtask tidy` finds an error type whose `Debug` is derived; these tests show that `Display` and `Debug`
/// describe the fault and its place.
#[test]
fn errors_of_every_kind_are_sentences_that_name_what_is_wrong() {
    use oxorb_cdr::{ByteOrder, Decoder, Dialect};

    let orb = Orb::builder().build().expect("an ORB");
    let named: Vec<(Box<dyn Error>, &str)> = vec![
        (Box::new(orb.string_to_object("nonsense").unwrap_err()), "nonsense"),
        (Box::new(orb.string_to_object("corbaloc::127.0.0.1:x/A").unwrap_err()), "127.0.0.1"),
        (Box::new(Orb::builder().setting("Nope", "1").build().unwrap_err()), "Nope"),
        (Box::new(Orb::builder().listen("bus://x").build().unwrap_err()), "bus"),
        (Box::new("1.2.3".parse::<oxorb::values::Decimal>().unwrap_err()), ""),
        (Box::new(oxorb::rt::Priority::new(-1).unwrap_err()), "-1"),
        (
            Box::new(Decoder::new(&[0], ByteOrder::Big, Dialect::new(2)).ulong().unwrap_err()),
            "octet 0",
        ),
        (Box::new("IOR:0".parse::<oxorb_object::Ior>().unwrap_err()), ""),
        (Box::new(orb.options().protocols.parse("a/b\\").unwrap_err()), ""),
        (Box::new(unreachable(&orb, free_port())), "127.0.0.1:"),
    ];
    for (error, name) in &named {
        is_sentence(&**error);
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}
