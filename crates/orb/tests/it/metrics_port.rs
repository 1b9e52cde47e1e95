//! The port for metrics, and the documentation of its page.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: nearly all tests make no calls.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::rt::Threadpool;
use oxorb::{Builder, Orb, SetupError};
use oxorb_testkit::watchdog;

use crate::common::openmetrics::{Page, get};
use crate::common::worker::{lane, lane_poa};
use crate::common::*;

static FAIL: Op = Op::twoway("fail");

fn with_metrics(builder: Builder) -> Orb {
    builder.setting("Metrics", "0").build().unwrap()
}

#[test]
fn other_requests_over_http_get_an_answer_that_says_what_is_wrong() {
    let _guard = watchdog(LONG);
    let orb = with_metrics(transport::builder());
    let address = orb.metrics_address().unwrap();
    assert!(address.ip().is_loopback());
    for (request, status) in [
        ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("GET /metricsx HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"),
        ("GARBAGE\r\n\r\n", "400 Bad Request"),
    ] {
        let (head, body) = get(address, request);
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {head}");
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
        assert!(!body.contains("oxorb_"), "{body}");
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn the_port_is_closed_when_the_orb_ends_and_an_orb_without_its_port_is_not_made() {
    let _guard = watchdog(LONG);
    let port = oxorb_testkit::net::free_port().to_string();
    let build = || transport::builder().setting("Metrics", &port).build();
    let orb = build().unwrap();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    assert_eq!(orb.metrics_address(), Some(address));
    let refused = build().unwrap_err();
    assert!(
        matches!(refused, SetupError::Metrics { address: at, .. } if at == address),
        "{refused}"
    );
    assert!(refused.to_string().contains(&format!("at {address}: ")), "{refused}");
    orb.shutdown(false).unwrap();
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let again = build().unwrap();
    drop(Page::of(&again));
    again.shutdown(true).unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn the_setting_takes_a_port_or_an_address_with_a_port() {
    for (text, address) in [
        ("9464", "127.0.0.1:9464"),
        ("localhost:9464", "127.0.0.1:9464"),
        ("0.0.0.0:0", "0.0.0.0:0"),
        ("[::1]:9464", "[::1]:9464"),
    ] {
        let mut options = oxorb::settings::Options::default();
        options.set("Metrics", text).unwrap();
        assert_eq!(options.metrics, Some(address.parse().unwrap()), "{text}");
    }
    for text in ["", ":9464", "host.example:9464", "65536", "::1:9464x", "http://127.0.0.1:9464"] {
        let error = oxorb::settings::Options::default().set("Metrics", text).unwrap_err();
        assert!(error.to_string().contains("expected a port"), "{error}");
    }
}

/// Returns a file of the documentation.
fn document(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Returns the page of an ORB that has counted something in most families.
fn rich_page() -> Page {
    let orb = with_metrics(transport::listening().setting("Budget", "poa requests=1000"));
    let pool = Threadpool::with_lanes([lane(4, 1), lane(9, 1)]);
    let pool = pool.buffering(oxorb::rt::RequestBuffering::default());
    let buffers = oxorb::rt::MessageBuffers { connections: 1, octets: 4096 };
    let pool = orb.create_threadpool(pool.message_buffers(buffers)).unwrap();
    let local = lane_poa(&orb, pool, 9).activate_servant(Arc::new(Pinger::default())).unwrap();
    let object = elsewhere(&orb, &local);
    assert_eq!(ping(&object, 1), Ok(2));
    call(&object, &FAIL).unwrap_err();
    let page = Page::of(&orb);
    orb.shutdown(true).unwrap();
    page
}

/// Returns the names of the samples of each family, without those of buckets, counts and sums.
fn documented(page: &Page) -> Vec<String> {
    let suffix = |kind: &str| match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    page.0.iter().map(|family| format!("{}{}", family.name, suffix(&family.kind))).collect()
}

#[test]
fn the_page_of_the_documentation_lists_all_metrics() {
    let _guard = watchdog(LONG);
    let page = rich_page();
    let text = document("metrics.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| `oxorb_"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let found: Vec<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(found, documented(&page), "names, in the order of the page");
    for (row, family) in rows.iter().zip(&page.0) {
        assert_eq!(
            [row[1], row[3]],
            [family.kind.as_str(), family.help.as_str()],
            "{}",
            family.name
        );
        let listed: BTreeSet<&str> = row[2]
            .split(", ")
            .map(|label| label.trim_matches('`'))
            .filter(|it| !it.is_empty())
            .collect();
        if let Some(sample) = family.samples.first() {
            let labels = sample.labels.keys().map(String::as_str).filter(|label| *label != "le");
            assert_eq!(labels.collect::<BTreeSet<_>>(), listed, "labels of {}", family.name);
        }
    }
}

#[test]
fn the_dashboard_shows_only_metrics_that_exist() {
    let _guard = watchdog(LONG);
    let page = rich_page();
    let mut known: BTreeSet<String> = documented(&page).into_iter().collect();
    for family in page.0.iter().filter(|family| family.kind == "histogram") {
        known.extend(["_bucket", "_count", "_sum"].map(|end| format!("{}{end}", family.name)));
    }
    let text = document("grafana-dashboard.json");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> =
        text.split(|c: char| !is_word(c)).filter(|word| word.starts_with("oxorb_")).collect();
    assert!(words.len() > 15, "{words:?}");
    for word in words {
        assert!(known.contains(word), "{word} is no metric of an ORB");
    }
    for shown in ["oxorb_calls_total", "oxorb_request_duration_seconds_bucket", "oxorb_connections"]
    {
        assert!(text.contains(shown), "{shown} is not shown");
    }
}
