//! An object called over the protocols of this crate.

use std::borrow::Cow;
use std::time::Duration;

use oxorb::policy::{ClientProtocol, Protocol};
use oxorb::{Interface as _, Orb, SystemExceptionKind};
use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_example_protocol_from_scratch::checksum::CHECKSUM;
use oxorb_example_protocol_from_scratch::plant::{Gauge, GaugeRef};
use oxorb_example_protocol_from_scratch::serial::Serial;
use oxorb_example_protocol_from_scratch::{CHECKSUM_TAG, SERIAL_TAG, checksum_over, giop_over};
use oxorb_giop::{Frame, FrameContext, Reply, ReplyStatus, Wire};
use oxorb_testkit::watchdog;

struct Thermometer;

impl Gauge for Thermometer {
    fn latest(&self, count: u32) -> oxorb::Result<Cow<'_, [f64]>> {
        let samples: Vec<f64> = (0..count).map(f64::from).collect();
        Ok(samples.into())
    }

    fn calibrate(&self, _offset: f64) -> oxorb::Result<()> {
        Ok(())
    }
}

fn orb(lines: &Serial, listen: &str) -> Orb {
    let orb =
        Orb::builder().protocol(giop_over(lines).unwrap()).protocol(checksum_over(lines).unwrap());
    match listen {
        "" => orb.build().unwrap(),
        listen => orb.listen(listen).build().unwrap(),
    }
}

#[test]
fn an_object_is_published_and_called_under_all_protocols_at_once() {
    let _guard = watchdog(Duration::from_secs(60));
    let lines = Serial::new(1_000_000_000);
    let everywhere = "iiop://127.0.0.1:0;serial://gauge;checksum+serial://summed";
    let (server, client) = (orb(&lines, everywhere), orb(&lines, ""));
    let gauge: GaugeRef = server.root_poa().activate(Thermometer).unwrap();
    let ior = gauge.reference().ior();
    let tags: Vec<_> = ior.profiles.iter().map(|profile| profile.tag).collect();
    assert_eq!(tags, [0, SERIAL_TAG, CHECKSUM_TAG]);
    let gauge: GaugeRef = client.resolve(&ior.to_string()).unwrap();
    for tag in tags {
        let gauge = gauge.with(ClientProtocol::new(&[Protocol::new(tag)]).unwrap());
        for count in [0, 3, 100_000] {
            let samples = gauge.latest(count).unwrap();
            assert_eq!(samples.len(), count as usize, "tag {tag:#x}");
            assert!(samples.iter().zip(0..).all(|(one, at)| *one == f64::from(at)));
        }
        gauge.calibrate(0.5).unwrap();
    }
    // The server is gone: each protocol detects it in its own way, and clients see the same result.
    server.shutdown(true).unwrap();
    for tag in [0, SERIAL_TAG, CHECKSUM_TAG] {
        let gauge = gauge.with(ClientProtocol::new(&[Protocol::new(tag)]).unwrap());
        let failed = gauge.calibrate(0.5).unwrap_err();
        assert_eq!(failed.kind, SystemExceptionKind::Transient, "tag {tag:#x}");
    }
    client.shutdown(true).unwrap();
}

#[test]
fn lines_that_lose_octets_carry_no_protocol() {
    let lossy = Serial::new(9600).without_handshake();
    let refused = checksum_over(&lossy).unwrap_err().to_string();
    assert!(refused.contains("reliable transport"), "{refused}");
    assert!(giop_over(&lossy).is_err());
}

#[test]
fn a_damaged_message_is_refused() {
    let wire = Wire::Other(CHECKSUM);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut e = Encoder::new(Vec::new(), order, wire.dialect());
        let begun = wire.begin_reply(&mut e, 7, ReplyStatus::NO_EXCEPTION, &[]);
        e.long(42);
        wire.finish(&mut e, begun).unwrap();
        let whole = e.finish().to_vec();
        let context = FrameContext::of(wire);
        let read = |octets: &[u8]| {
            let frame = Frame::parse_in(octets, context.as_ref()).ok()?;
            Reply::parse(&frame).ok().map(|reply| reply.id)
        };
        assert_eq!(read(&whole), Some(7));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            assert_eq!(read(&damaged), None, "octet {at}");
        }
    }
}
