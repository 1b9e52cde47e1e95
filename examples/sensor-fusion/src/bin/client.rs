//! Sensor, `gyro` or `compass`, that calls the fusion object whose reference is the first argument.

use std::thread;
use std::time::Duration;

use oxorb::Orb;
use oxorb_example_sensor_fusion::nav::FusionRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference, sensor] = orb.args() else {
        return Err("usage: client REFERENCE gyro|compass".into());
    };
    let fusion: FusionRef = orb.resolve(reference)?;
    let (calls, period) = match sensor.as_str() {
        "gyro" => (200, Duration::from_millis(10)),
        "compass" => (40, Duration::from_millis(50)),
        other => return Err(format!("there is no sensor {other}").into()),
    };
    let mut estimate = 0.0;
    for _ in 0..calls {
        // The vehicle heads for 90 degrees, and does not turn.
        estimate = match sensor.as_str() {
            "gyro" => fusion.gyro(0.0)?,
            _ => fusion.compass(90.0)?,
        };
        // Calls are at least a period apart, as the proof assumes.
        thread::sleep(period);
    }
    println!("{sensor}: {calls} calls, heading {estimate:.0} degrees");
    Ok(())
}
