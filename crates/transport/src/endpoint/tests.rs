use super::*;

fn parse(text: &str) -> Endpoint {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(text: &str, place: &str, problem: &str) {
    let error = Endpoint::parse_list(text).unwrap_err();
    assert_eq!(&text[error.place.clone()], place, "{error}");
    assert!(error.problem.contains(problem), "{error}");
}

#[test]
fn tao_notation() {
    let plain = parse("iiop://host.example:2809");
    assert_eq!(plain, Endpoint::new("host.example", 2809));
    assert_eq!(parse("iiop://"), Endpoint::new("", 0));
    assert_eq!(parse("iiop://*:99"), Endpoint::new("", 99));
    assert_eq!(parse("iiop://:99"), Endpoint::new("", 99));
    assert_eq!(parse("iiop://host"), Endpoint::new("host", 0));
    assert_eq!(parse("iiop://[::1]"), Endpoint::new("::1", 0));
    assert_eq!(parse("iiop://[fe80::1%eth0]:5").host, "fe80::1%eth0");
    assert_eq!(parse("iiop://1.1@h:1").version, Some((1, 1)));
    let options = parse("iiop://h:7/portspan=3&hostname_in_ior=public.example&reuse_addr=0");
    assert_eq!(options.port_span, 3);
    assert_eq!(options.publish.as_deref(), Some("public.example"));
    assert!(!options.reuse_address);
}

#[test]
fn omniorb_notation() {
    assert_eq!(parse("giop:tcp::"), Endpoint::new("", 0));
    assert_eq!(parse("giop:tcp:host:"), Endpoint::new("host", 0));
    assert_eq!(parse("giop:tcp::2809"), Endpoint::new("", 2809));
    assert_eq!(parse("giop:tcp:[::1]:2809"), Endpoint::new("::1", 2809));
    assert_eq!(parse("giop:tcp:h:5-9").port_span, 5);
}

#[test]
fn lists_share_options_within_one_endpoint_only() {
    let list = Endpoint::parse_list("iiop://a:1,1.0@b:2/portspan=2;giop:tcp:c:3").unwrap();
    let seen: Vec<_> = list.iter().map(ToString::to_string).collect();
    assert_eq!(
        seen,
        [
            "iiop://a:1/portspan=2",
            "iiop://1.0@b:2/portspan=2",
            "iiop://c:3"
        ]
    );
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
        assert_eq!(parse(text), parse(&parse(text).to_string()), "{text}");
    }
}

#[test]
fn errors_point_at_the_place() {
    refused("", "", "begins with iiop://");
    refused("shmiop://x", "shmiop://x", "begins with iiop://");
    refused("iiop://a:1;", "", "begins with iiop://");
    refused("iiop://a:b", "b", "0 to 65535");
    refused("iiop://a:+5", "+5", "0 to 65535");
    refused("iiop://a:", "", "0 to 65535");
    refused("iiop://::1:80", "::1:80", "brackets");
    refused("iiop://[::1", "[::1", "never closed");
    refused("iiop://[::1]80", "80", "follow the bracket");
    refused("iiop://[nonsense]:80", "[nonsense]", "no IPv6 address");
    refused("iiop://2.0@h:1", "2.0", "versions");
    refused("iiop://h h:1", "h h", "letters");
    refused("iiop://h:1/portspan", "portspan", "name=value");
    refused("iiop://h:1/portspan=0", "0", "1 to 65535");
    refused("iiop://h:65535/portspan=2", "h:65535", "beyond port 65535");
    refused("iiop://h:1/reuse_addr=yes", "yes", "0 or 1");
    refused(
        "iiop://h:1/hostname_in_ior=",
        "hostname_in_ior=",
        "needs a host",
    );
    refused("iiop://h:1/colour=red", "colour", "the options are");
    refused("giop:tcp:host", "host", "separated by a colon");
    refused("giop:tcp::9-5", "9-5", "upwards");
    let list = "iiop://a:1;iiop://b:2".parse::<Endpoint>().unwrap_err();
    assert!(list.problem.contains("not a list"));
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
