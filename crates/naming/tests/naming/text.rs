//! Names as text, and URLs (Naming Service 1.3, 2.4 and 2.5).

use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_naming::Names;
use oxorb_naming::cos_naming::naming_context_ext::{
    ResolveStrError, ToNameError, ToStringError, ToUrlError,
};

use super::{Served, n};

#[test]
fn the_service_converts_names() {
    let served = Served::new();
    let root = &served.root;
    assert_eq!(root.to_string(&n(r"a\/b.c/.d/.")).unwrap(), r"a\/b.c/.d/.");
    assert_eq!(root.to_name(r"a\/b.c/.d/.").unwrap(), n(r"a\/b.c/.d/."));
    assert!(matches!(
        root.to_string(&[]),
        Err(ToStringError::InvalidName(_))
    ));
    for wrong in ["", "/a", "a/", "a//b", "a.", "a.b.c", r"a\b"] {
        assert!(
            matches!(root.to_name(wrong), Err(ToNameError::InvalidName(_))),
            "{wrong}"
        );
        assert!(matches!(
            root.resolve_str(wrong),
            Err(ResolveStrError::InvalidName(_))
        ));
        assert!(matches!(
            root.to_url(":host", wrong),
            Err(ToUrlError::InvalidName(_))
        ));
    }
}

#[test]
fn the_service_makes_urls() {
    let served = Served::new();
    for (address, name, url) in [
        (":host", "a/b", "corbaname::host#a/b"),
        (
            "iiop:1.2@host:2809",
            "a.b",
            "corbaname:iiop:1.2@host:2809#a.b",
        ),
        (
            ":host/Other",
            "a b<c>",
            "corbaname::host/Other#a%20b%3cc%3e",
        ),
        ("rir:", r"a\.b", "corbaname:rir:#a%5c.b"),
    ] {
        assert_eq!(served.root.to_url(address, name).unwrap(), url);
    }
    for wrong in ["", "host", ":host:port", ":host#x"] {
        let url = served.root.to_url(wrong, "a");
        assert!(
            matches!(url, Err(ToUrlError::InvalidAddress(_))),
            "{wrong}: {url:?}"
        );
    }
}

#[test]
fn corbaname_leads_to_objects() {
    let served = Served::new();
    let (names, object) = (served.names(), served.object("o"));
    names.make_contexts("bank/a b").unwrap();
    names.bind(r"bank/a b/o\.1.x", &object).unwrap();
    let address = served.address();
    let url = served
        .root
        .to_url(&format!(":{address}"), r"bank/a b/o\.1.x")
        .unwrap();
    assert_eq!(served.client.string_to_object(&url).unwrap(), object);
    // Without a name, it is the context; with an initial reference, no address is needed.
    let context = format!("corbaname::{address}#bank");
    let bank = Names::at(&served.client, &context).unwrap();
    assert_eq!(bank.resolve::<ObjectRef>(r"a b/o\.1.x").unwrap(), object);
    let orb = Orb::builder()
        .args([
            "-ORBInitRef".to_owned(),
            format!("NameService=corbaloc::{address}/NameService"),
        ])
        .build()
        .unwrap();
    let found = orb
        .string_to_object(r"corbaname:rir:#bank/a%20b/o%5c.1.x")
        .unwrap();
    assert_eq!(found.to_ior(), object.to_ior());
    assert_eq!(
        Names::of(&orb)
            .unwrap()
            .resolve::<ObjectRef>(r"bank/a b/o\.1.x")
            .unwrap(),
        found
    );
    // The server itself needs neither.
    let found = served
        .server
        .string_to_object("corbaname:rir:#bank/a%20b/o%5c.1.x")
        .unwrap();
    assert_eq!(found.to_ior(), object.to_ior());
    orb.shutdown(true).unwrap();
}

#[test]
fn a_corbaname_that_leads_nowhere_says_where_it_ends() {
    let served = Served::new();
    served.names().make_contexts("bank").unwrap();
    let url = format!("corbaname::{}#bank/x/y", served.address());
    let failed = served.client.string_to_object(&url).unwrap_err();
    assert_eq!(
        failed.to_string(),
        "the naming service did not resolve \"bank/x/y\": there is no \"x\" (NotFound)"
    );
}
