//! Events of a Notification channel as server-sent events.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::process::Command;

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use serde_json::{Value, json};

use super::{LIMIT, client, started};

/// Receives the lines of a stream of events.
fn listen(address: &str, channel: &str) -> impl Iterator<Item = String> {
    let mut stream = client::connect(address);
    write!(stream, "GET /events/{channel} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    BufReader::new(stream).lines().map_while(|line| match line {
        Ok(line) => Some(line),
        // A connection that is reset counts as closed.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
        Err(error) => panic!("{error}"),
    })
}

#[test]
fn every_client_learns_that_a_channel_is_gone_but_not_its_address() {
    let orb = Orb::builder().build().unwrap();
    let nobody = orb.string_to_object("corbaloc::127.0.0.1:1/Plant").unwrap();
    let mut ior = nobody.reference().ior().clone();
    // The interface is known, so the first operation fails, and not the query for the interface.
    ior.type_id = EventChannelRef::REPOSITORY_ID.to_owned();
    let option = format!("plant={ior}");
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--events", &option]);
    let (_gateway, said) = started(&args, "url");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    let document = client::ask(address, "GET", "/openapi.json", "", "").json();
    assert!(document["paths"]["/events/plant"]["get"].is_object(), "{document}");
    let head = client::ask(address, "HEAD", "/events/plant", "", "");
    assert_eq!((head.status, head.field("content-type")), (200, Some("text/event-stream")));
    let streams = [(); 2].map(|()| {
        let mut lines = listen(address, "plant");
        assert!(lines.any(|line| line.contains("event: lost")));
        let reason = lines.find(|line| line.contains("data: ")).expect("a reason");
        assert!(!reason.contains("127.0.0.1") && !reason.contains("tried"), "{reason}");
        lines
    });
    drop(streams);
    orb.shutdown(true).unwrap();
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--streams", "1", "--events", "plant=corbaloc::127.0.0.1:1/Plant"]);
    let (_gateway, said) = started(&args, "url");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    let mut lines = listen(address, "plant");
    assert!(lines.any(|line| line.contains("text/event-stream")));
    client::ask(address, "GET", "/events/plant", "", "").problem(503);
}

#[test]
fn events_arrive_and_the_stream_ends_with_the_gateway() {
    let mut serve = vec!["event", "serve", "--port", "0", "--notify=Plant"];
    serve.extend(["--format", "json"]);
    let (_channel, said) = started(&serve, "\"notify\"");
    let reference = said["notify"]["ior"].as_str().expect("a reference");
    let option = format!("plant={reference}");
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--events", &option]);
    let (mut gateway, said) = started(&args, "url");
    let url = said["url"].as_str().expect("a URL");
    let address = url.strip_prefix("http://").expect("plain HTTP");
    let list = client::ask(address, "GET", "/events", "", "");
    assert_eq!(list.json(), json!({ "events": ["plant"] }));
    client::ask(address, "GET", "/events/other", "", "").problem(404);

    let mut lines = listen(address, "plant");
    let mut next = |word: &str| lines.find(|line| line.contains(word));
    assert!(next("text/event-stream").is_some());
    assert!(next("event: connected").is_some());

    let orb = Orb::builder().build().unwrap();
    let channel: EventChannelRef = orb.resolve(reference).unwrap();
    let suppliers = channel.for_suppliers().unwrap().expect("an admin");
    let push = suppliers.obtain_push_consumer().unwrap().expect("a proxy");
    push.connect_push_supplier(None).unwrap();
    push.push(&Any::new(7_i32)).unwrap();
    let line = next("data: {\"type\"").expect("an event");
    let data = line.split_once(": ").expect("data").1;
    let event: Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(event, json!({ "type": "long", "value": 7 }));

    let kill = Command::new("kill").arg(gateway.id().to_string()).status();
    assert!(kill.expect("kill is there").success());
    assert_eq!(next("data: {\"type\""), None);
    gateway.wait_success(LIMIT);
    orb.shutdown(true).unwrap();
}
