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
    assert!(matches!(root.to_string(&[]), Err(ToStringError::InvalidName(_))));
    for wrong in ["", "/a", "a/", "a//b", "a.", "a.b.c", r"a\b"] {
        assert!(matches!(root.to_name(wrong), Err(ToNameError::InvalidName(_))), "{wrong}");
        assert!(matches!(root.resolve_str(wrong), Err(ResolveStrError::InvalidName(_))));
        assert!(matches!(root.to_url(":host", wrong), Err(ToUrlError::InvalidName(_))));
    }
}

#[test]
fn the_service_makes_urls() {
    let served = Served::new();
    for (address, name, url) in [
        (":host", "a/b", "corbaname::host#a/b"),
        ("iiop:1.2@host:2809", "a.b", "corbaname:iiop:1.2@host:2809#a.b"),
        (":host/Other", "a b<c>", "corbaname::host/Other#a%20b%3cc%3e"),
        ("rir:", r"a\.b", "corbaname:rir:#a%5c.b"),
    ] {
        assert_eq!(served.root.to_url(address, name).unwrap(), url);
    }
    for wrong in ["", "host", ":host:port", ":host#x"] {
        let url = served.root.to_url(wrong, "a");
        assert!(matches!(url, Err(ToUrlError::InvalidAddress(_))), "{wrong}: {url:?}");
    }
}

#[test]
fn corbaname_leads_to_objects() {
    let served = Served::new();
    let (names, object) = (served.names(), served.object("o"));
    names.make_contexts("bank/a b").unwrap();
    names.bind(r"bank/a b/o\.1.x", &object).unwrap();
    let address = served.address();
    let url = served.root.to_url(&format!(":{address}"), r"bank/a b/o\.1.x").unwrap();
    assert_eq!(served.client.string_to_object(&url).unwrap(), object);
    // A `corbaname:` may also name a context, and with an initial reference, `corbaname:rir:` needs no address.
    let context = format!("corbaname::{address}#bank");
    let bank = Names::at(&served.client, &context).unwrap();
    assert_eq!(bank.resolve::<ObjectRef>(r"a b/o\.1.x").unwrap(), object);
    let orb = Orb::builder()
        .args(["-ORBInitRef".to_owned(), format!("NameService=corbaloc::{address}/NameService")])
        .build()
        .unwrap();
    let found = orb.string_to_object(r"corbaname:rir:#bank/a%20b/o%5c.1.x").unwrap();
    assert_eq!(found.to_ior(), object.to_ior());
    assert_eq!(Names::of(&orb).unwrap().resolve::<ObjectRef>(r"bank/a b/o\.1.x").unwrap(), found);
    // The server's own ORB needs neither an address nor an `-ORBInitRef`.
    let found = served.server.string_to_object("corbaname:rir:#bank/a%20b/o%5c.1.x").unwrap();
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

/// Regression test: if a client's code set could not represent one of the listed names, the client
/// received none of them.
#[test]
fn a_name_outside_of_a_clients_code_set_hides_no_other() {
    let served = Served::new();
    // A `corbaloc:` declares no code sets, so text is sent in ISO 8859-1. An IOR declares them, so text is sent in
    // UTF-8.
    let latin = &served.root;
    let ior = served.service.root().to_ior();
    // One client ORB suffices: references with different code sets have separate connections.
    let unicode: oxorb_naming::cos_naming::NamingContextExtRef =
        served.client.resolve(&ior).unwrap();
    let object = served.object("o");
    for name in ["жук.😀", "Grüße", "{U+0436}", "plain"] {
        unicode.bind(&n(name), Some(&object)).unwrap();
    }
    let sent = ["{U+0436}{U+0443}{U+043A}.{U+1F600}", "Grüße", "{U+007B}U+0436}", "plain"];
    let mut expected = sent.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(super::listed(&latin.clone().into()), expected);
    let mut expected = ["жук.😀", "Grüße", "{U+0436}", "plain"].map(str::to_owned);
    expected.sort();
    assert_eq!(super::listed(&unicode.clone().into()), expected);
    // The same holds for an iterator, although its reference is an IOR and therefore selects UTF-8.
    let (first, rest) = latin.list(1).unwrap();
    let (_, rest) = rest.unwrap().next_n(10).unwrap();
    assert_eq!(first.len() + rest.len(), 4);
    // The listed names can be used in further calls, as components and as text: to resolve, rebind and unbind.
    for name in sent {
        assert_eq!(latin.resolve(&n(name)).unwrap(), Some(object.clone()));
        assert_eq!(latin.resolve_str(name).unwrap(), Some(object.clone()));
        assert_eq!(latin.to_name(name).unwrap(), n(name));
        assert_eq!(latin.to_string(&n(name)).unwrap(), name);
        latin.rebind(&n(name), Some(&object)).unwrap();
    }
    let url = latin.to_url(":host", "{U+0436}").unwrap();
    assert_eq!(url, "corbaname::host#%d0%b6");
    match latin.resolve(&n("{U+0436}/x")) {
        Err(oxorb_naming::cos_naming::naming_context::ResolveError::NotFound(missing)) => {
            assert_eq!(missing.rest_of_name, n("{U+0436}/x"));
        }
        other => panic!("{other:?}"),
    }
    for name in sent {
        latin.unbind(&n(name)).unwrap();
    }
    assert_eq!(unicode.list(10).unwrap().0, []);
    // A client whose code set lacks a character may also bind a name with it, by writing the escape.
    latin.bind(&n("{U+0436}"), Some(&object)).unwrap();
    assert_eq!(unicode.list(10).unwrap().0[0].binding_name, n("ж"));
}
