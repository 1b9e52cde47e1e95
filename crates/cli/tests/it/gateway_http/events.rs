//! Events of a Notification channel as server-sent events.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Command;

use oxorb::{Any, Orb};
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use serde_json::{Value, json};

use super::{LIMIT, client, started};

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

    let mut stream = client::connect(address);
    write!(stream, "GET /events/plant HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("a line of the stream"));
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
