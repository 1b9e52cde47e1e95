//! Every address of a reference is tried, at whichever position in the reference (P10).

use oxorb::settings::{ClientConnections, Concurrency};
use oxorb_object::{IiopEndpoint, IiopProfile, Ior, TaggedComponent, Version};
use oxorb_testkit::net::free_port;
use oxorb_testkit::watchdog;

use crate::common::{self, LONG, client, object_key, ping, pinger, server};

#[test]
fn endpoints_of_tao_without_priorities_are_tried_in_turn() {
    common::only_over!(IIOP, "the component is TAO's, of IIOP's profiles");
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    let alive = common::address(&object);
    let at = |port| IiopEndpoint { host: "127.0.0.1".to_owned(), port };
    let dead = free_port();
    let mut profile = IiopProfile::new(Version::V1_2, "127.0.0.1", dead, &object_key(&object));
    profile.components =
        vec![TaggedComponent::tao_endpoints(&[(at(dead), -1), (at(common::port(&alive)), -1)])];
    let ior = Ior { type_id: common::PINGER.to_owned(), profiles: vec![profile.to_profile()] };
    let object = client.string_to_object(&ior.to_string()).unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    server.shutdown(true).unwrap();
}
