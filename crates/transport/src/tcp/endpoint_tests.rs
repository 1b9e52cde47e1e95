use super::*;

/// Parses a complete endpoint. The words before TCP's own notation belong to protocols.
fn endpoint(text: &str) -> Result<Endpoint, EndpointError> {
    let whole = Part::new(text);
    match whole.after("iiop://") {
        Some(part) => Ok(url(part)?.remove(0)),
        None => colon(whole.after("giop:tcp:").expect("a notation")),
    }
}

fn parse(text: &str) -> Place {
    Place::of(&endpoint(text).unwrap_or_else(|error| panic!("{error}")))
}

#[track_caller]
fn refused(text: &str, place: &str, problem: &str) {
    let error = endpoint(text).unwrap_err();
    assert_eq!(&text[error.place.clone()], place, "{error}");
    assert!(error.problem.contains(problem), "{error}");
}

#[test]
fn tao_notation() {
    let plain = parse("iiop://host.example:2809");
    assert_eq!(plain, Place::new("host.example", 2809));
    assert_eq!(parse("iiop://"), Place::new("", 0));
    assert_eq!(parse("iiop://*:99"), Place::new("", 99));
    assert_eq!(parse("iiop://:99"), Place::new("", 99));
    assert_eq!(parse("iiop://host"), Place::new("host", 0));
    assert_eq!(parse("iiop://[::1]"), Place::new("::1", 0));
    assert_eq!(parse("iiop://[fe80::1%eth0]:5").host, "fe80::1%eth0");
    assert_eq!(endpoint("iiop://1.1@h:1").unwrap().version, Some((1, 1)));
    let options = parse("iiop://h:7/portspan=3&hostname_in_ior=public.example&reuse_addr=0");
    assert_eq!(options.port_span, 3);
    assert_eq!(options.publish.as_deref(), Some("public.example"));
    assert!(!options.reuse_address);
}

#[test]
fn omniorb_notation() {
    assert_eq!(parse("giop:tcp::"), Place::new("", 0));
    assert_eq!(parse("giop:tcp:host:"), Place::new("host", 0));
    assert_eq!(parse("giop:tcp::2809"), Place::new("", 2809));
    assert_eq!(parse("giop:tcp:[::1]:2809"), Place::new("::1", 2809));
    assert_eq!(parse("giop:tcp:h:5-9").port_span, 5);
}

#[test]
fn lists_share_options_within_one_endpoint_only() {
    let list = url(Part::new("a:1,1.0@b:2/portspan=2")).unwrap();
    let seen: Vec<_> = list.iter().map(ToString::to_string).collect();
    assert_eq!(seen, ["tcp://a:1/portspan=2", "tcp://1.0@b:2/portspan=2"]);
}

#[test]
fn display_reads_back() {
    for text in [
        "iiop://:0",
        "iiop://host:2809",
        "iiop://1.2@[::1]:9/portspan=4&hostname_in_ior=x.example&reuse_addr=0",
        "iiop://0.0.0.0:1/hostname_in_ior=[2001:db8::1]",
        "iiop://:1/allow=10.0.0.0/8&deny=fd00::/8&allow=all",
    ] {
        let first = endpoint(text).unwrap();
        let second = first.to_string().replace("tcp://", "iiop://");
        assert_eq!(first, endpoint(&second).unwrap(), "{text}");
    }
}

#[test]
fn errors_point_at_the_place() {
    refused("iiop://a:b", "b", "0 to 65535");
    refused("iiop://a:+5", "+5", "0 to 65535");
    refused("iiop://a:", "", "0 to 65535");
    refused("iiop://::1:80", "::1:80", "brackets");
    refused("iiop://[::1", "[::1", "never closed");
    refused("iiop://[::1]80", "80", "follow the bracket");
    refused("iiop://[nonsense]:80", "[nonsense]", "not an IPv6 address");
    refused("iiop://2.x@h:1", "2.x", "MAJOR.MINOR");
    refused("iiop://h h:1", "h h", "letters");
    refused("iiop://h:1/portspan", "portspan", "NAME=VALUE");
    refused("iiop://h:1/portspan=0", "0", "1 to 65535");
    refused("iiop://h:65535/portspan=2", "h:65535", "beyond port 65535");
    refused("iiop://h:1/reuse_addr=yes", "yes", "0 or 1");
    refused("iiop://h:1/hostname_in_ior=", "hostname_in_ior", "needs a host");
    refused("iiop://h:1/colour=red", "colour", "the options are");
    refused("giop:tcp:host", "host", "separated by a colon");
    refused("giop:tcp::9-5", "9-5", "ascending");
}

#[test]
fn wildcards() {
    for (text, families) in [
        ("iiop://", (true, true)),
        ("iiop://0.0.0.0:1", (true, false)),
        ("iiop://[::]:1", (false, true)),
    ] {
        let endpoint = parse(text);
        assert!(endpoint.is_wildcard(), "{text}");
        assert_eq!(endpoint.wildcard_families(), families, "{text}");
    }
    assert!(!parse("iiop://127.0.0.1:1").is_wildcard());
    assert!(!parse("iiop://name:1").is_wildcard());
}
