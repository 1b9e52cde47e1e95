//! Events of a Notification channel as server-sent events.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::process::Command;

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use oxorb_testkit::net::connect_from;
use serde_json::{Value, json};

use super::{LIMIT, client, started};

/// Receives the lines of a stream of events.
fn listen(address: &str, channel: &str) -> impl Iterator<Item = String> {
    listen_after(address, channel, "")
}

/// Receives the lines of a stream of events. `fields` are further lines of the request's head.
fn listen_after(
    address: &str,
    channel: &str,
    fields: &str,
) -> impl Iterator<Item = String> + use<> {
    let mut stream = client::connect(address);
    write!(stream, "GET /events/{channel} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n").unwrap();
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
fn one_client_leaves_streams_for_others() {
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--streams", "4", "--events", "plant=corbaloc::127.0.0.1:1/Plant"]);
    let (_gateway, said) = started(&args, "url");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    let mut streams = [(); 3].map(|()| listen(address, "plant"));
    for stream in &mut streams {
        assert!(stream.any(|line| line.contains("text/event-stream")));
    }
    let refused = client::ask(address, "GET", "/events/plant", "", "").problem(503);
    assert!(refused["detail"].to_string().contains("this client"), "{refused}");
    let (from, to) = ("127.0.0.2".parse().expect("an address"), address.parse().expect("one"));
    let mut other = connect_from(from, to).expect("the gateway listens");
    other.set_read_timeout(Some(LIMIT)).expect("a time limit");
    let request = format!("GET /events/plant HTTP/1.1\r\nHost: {address}\r\n\r\n");
    other.write_all(request.as_bytes()).expect("a connection");
    let mut lines = BufReader::new(other).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("text/event-stream")));
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

/// Returns the next event of a stream, and its id.
fn next_event(lines: &mut impl Iterator<Item = String>) -> (Value, String) {
    let mut id = None;
    loop {
        let line = lines.next().expect("the stream goes on");
        // The chunks of HTTP/1.1 begin with their lengths, on lines of their own.
        match line.split_once(": ") {
            Some(("id", text)) => id = Some(text.to_owned()),
            Some(("data", json)) if id.is_some() => {
                let json = serde_json::from_str(json).expect("JSON");
                return (json, id.expect("an id precedes the data"));
            }
            Some(("event", kind)) => assert_ne!(kind, "dropped"),
            _ => {}
        }
    }
}

#[test]
fn events_are_filtered_and_a_client_that_returns_receives_what_it_has_missed() {
    let mut serve = vec!["event", "serve", "--port", "0", "--notify=Plant"];
    serve.extend(["--format", "json"]);
    let (_channel, said) = started(&serve, "\"notify\"");
    let reference = said["notify"]["ior"].as_str().expect("a reference");
    let option = format!("plant={reference}");
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--events", &option, "--events-history", "3"]);
    let (_gateway, said) = started(&args, "url");
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    let event = |value: i32| json!({ "type": "long", "value": value });

    for wrong in ["plant?filter=$%20%3E", "plant?type=17", "plant?colour=red"] {
        client::ask(address, "GET", &format!("/events/{wrong}"), "", "").problem(400);
    }
    let large = "plant?filter=$%20%3E%205";
    let mut lines = listen(address, large);
    assert!(lines.any(|line| line == "event: connected"));
    let orb = Orb::builder().build().unwrap();
    let channel: EventChannelRef = orb.resolve(reference).unwrap();
    let suppliers = channel.for_suppliers().unwrap().expect("an admin");
    let push = suppliers.obtain_push_consumer().unwrap().expect("a proxy");
    push.connect_push_supplier(None).unwrap();
    let send =
        |values: &[i32]| values.iter().for_each(|value| push.push(&Any::new(*value)).unwrap());
    send(&[3, 7]);
    let (first, id) = next_event(&mut lines);
    assert_eq!(first, event(7), "3 does not pass");
    // Another client sees when the next events have arrived.
    let mut all = listen(address, "plant");
    assert!(all.any(|line| line == "event: connected"));
    drop(lines);
    send(&[8, 4, 9]);
    assert_eq!([(); 3].map(|()| next_event(&mut all).0), [8, 4, 9].map(event));

    let after = |id: &str| format!("Last-Event-ID: {id}\r\n");
    let mut again = listen_after(address, large, &after(&id));
    let (missed, _) = next_event(&mut again);
    let (later, last) = next_event(&mut again);
    assert_eq!((missed, later), (event(8), event(9)), "4 does not pass");
    send(&[10]);
    assert_eq!(next_event(&mut again).0, event(10), "later events follow");
    let mut none = listen_after(address, "plant", &after(&last));
    assert_eq!(next_event(&mut none).0, event(10));

    // Only the last three events are kept: 4, 9 and 10.
    for unknown in [&id, "nonsense", "0-1"] {
        let mut lines = listen_after(address, "plant", &after(unknown));
        assert!(lines.any(|line| line == "event: gone"), "{unknown}");
        send(&[11]);
        assert_eq!(next_event(&mut lines).0, event(11), "{unknown}");
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn events_of_a_real_time_channel_are_filtered_by_type_and_source() {
    let (_channel, said) =
        started(&["event", "serve", "--port", "0", "--format", "json"], "channels");
    let reference = said["channels"][0]["ior"].as_str().expect("a reference");
    let option = format!("plant={reference}");
    let mut args = vec!["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"];
    args.extend(["--realtime-events", &option]);
    let (_gateway, said) = started(&args, "url");
    assert_eq!(said["events"], json!(["plant"]));
    let address = said["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("plain HTTP");
    client::ask(address, "GET", "/events/plant?filter=TRUE", "", "").problem(400);
    let document = client::ask(address, "GET", "/openapi.json", "", "").json();
    let parameters = &document["paths"]["/events/plant"]["get"]["parameters"];
    assert_eq!(parameters[0]["name"], "type", "{document}");

    let mut lines = listen(address, "plant?type=17&type=18&source=3");
    assert!(lines.any(|line| line == "event: connected"));
    for (kind, source, value) in [("16", "3", "1"), ("17", "4", "2"), ("18", "3", "3")] {
        let pushed = crate::common::run(&[
            "event", "pub", "--at", reference, "--type", kind, "--source", source, value,
        ]);
        assert!(pushed.status.success(), "{pushed:?}");
    }
    let (event, _) = next_event(&mut lines);
    let expected = json!({ "type": 18, "source": 3, "payload_octets": 0 });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&event[name], value, "{event}");
    }
    assert_eq!(event["value"]["value"], 3, "{event}");
}
