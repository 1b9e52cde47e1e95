//! A gauge that is read over a serial line, once with GIOP's messages and once with checksums.

use std::borrow::Cow;
use std::time::Instant;

use oxorb::policy::{ClientProtocol, Protocol};
use oxorb::{Interface as _, Orb};
use oxorb_example_protocol_from_scratch::plant::{Gauge, GaugeRef};
use oxorb_example_protocol_from_scratch::serial::Serial;
use oxorb_example_protocol_from_scratch::{CHECKSUM_TAG, SERIAL_TAG, checksum_over, giop_over};

struct Thermometer;

impl Gauge for Thermometer {
    fn latest(&self, count: u32) -> oxorb::Result<Cow<'_, [f64]>> {
        let samples: Vec<f64> = (0..count.min(1000)).map(|at| 20.0 + f64::from(at) / 8.0).collect();
        Ok(samples.into())
    }

    fn calibrate(&self, _offset: f64) -> oxorb::Result<()> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = Serial::new(115_200);
    // Invalid combinations are rejected when the protocol is assembled, or at the latest when the ORB is built.
    let lossy = Serial::new(115_200).without_handshake();
    println!("refused: {}", checksum_over(&lossy).unwrap_err());

    // Three protocols at once: the object is published under each of them.
    let server = Orb::builder()
        .protocol(giop_over(&lines)?)
        .protocol(checksum_over(&lines)?)
        .listen("iiop://127.0.0.1:0;serial://gauge;checksum+serial://gauge-summed")
        .build()?;
    let gauge: GaugeRef = server.root_poa().activate(Thermometer)?;
    println!("{}", gauge.to_ior());

    let client =
        Orb::builder().protocol(giop_over(&lines)?).protocol(checksum_over(&lines)?).build()?;
    let gauge: GaugeRef = client.resolve(&gauge.to_ior())?;
    for (name, tag) in
        [("IIOP", 0), ("GIOP, serial", SERIAL_TAG), ("checksum, serial", CHECKSUM_TAG)]
    {
        // The application stays the same: a policy chooses.
        let gauge = gauge.with(ClientProtocol::new(&[Protocol::new(tag)])?);
        let began = Instant::now();
        let samples = gauge.latest(100)?;
        println!("{name}: {} samples in {:?}", samples.len(), began.elapsed());
    }
    client.shutdown(true)?;
    server.shutdown(true)?;
    Ok(())
}
