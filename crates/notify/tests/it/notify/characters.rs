//! Events with characters that the native code set of a consumer does not contain.

use std::sync::mpsc::channel;

use oxorb::values::CharSet;
use oxorb::{Interface as _, Orb};
use oxorb_delivery::Cause;
use oxorb_notify::NotifyService;
use oxorb_testkit::until;

use crate::notify::Served;
use crate::notify::persistent::next_event;
use crate::notify::structured::event;

const NAMES: [&str; 6] = ["one", "zwölf", "€uro", "Łódź", "日本", "six"];

/// Creates a service with this preference of code sets, and clients with Latin-1 as native code set that also list
/// UTF-8.
fn served(prefer_utf8: bool) -> Served {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").prefer_utf8(prefer_utf8);
    let server = server.build().unwrap();
    let service = NotifyService::start(&server).unwrap();
    let client = Orb::builder().listen("iiop://127.0.0.1:0").native_chars(CharSet::Iso8859_1);
    let client = client.build().unwrap();
    let channel = service.event_channel().unwrap();
    let channel = client.resolve(&channel.to_ior()).unwrap();
    Served { server, client, service, channel }
}

fn push_all(served: &Served) {
    let source = served.structured_source();
    // Use a supplier with UTF-8 as native code set, so that all characters reach the channel.
    let supplier = Orb::builder().build().unwrap();
    let source: oxorb_notify::cos_notify_channel_admin::StructuredProxyPushConsumerRef =
        supplier.resolve(&source.to_ior()).unwrap();
    for (number, name) in (0..).zip(NAMES) {
        let mut pushed = event("d", "t", number);
        pushed.header.fixed_header.event_name = name.to_owned();
        source.push_structured_event(&pushed).unwrap();
    }
    supplier.shutdown(true).unwrap();
}

#[test]
fn utf_8_is_sent_where_the_consumer_lists_it() {
    let served = served(true);
    let heard = served.connect(&served.structured_proxy());
    push_all(&served);
    for name in NAMES {
        assert_eq!(next_event(&heard).header.fixed_header.event_name, name);
    }
    assert_eq!(served.service.counts().dropped_in_all(), 0);
}

#[test]
fn what_a_code_set_lacks_is_counted_and_logged() {
    let served = served(false);
    let (log, lines) = channel();
    served.service.log(move |line| {
        let _ = log.send(line.to_owned());
    });
    let heard = served.connect(&served.structured_proxy());
    push_all(&served);
    for name in ["one", "zwölf", "six"] {
        assert_eq!(next_event(&heard).header.fixed_header.event_name, name);
    }
    until("three events are counted", || served.service.counts().dropped(Cause::Failed) == 3);
    // Three events failed. There is a line for the first one, and one for the second, when the number had doubled.
    let lines: Vec<String> = lines.try_iter().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for part in ["dropped, and counted as failed", "DATA_CONVERSION", "-ORBPreferUtf8 1", "U+20AC"]
    {
        assert!(lines[0].contains(part), "no {part} in {}", lines[0]);
    }
    assert!(lines[1].contains("(2 so far)"), "{}", lines[1]);
}
