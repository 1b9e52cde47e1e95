//! Uses the device whose reference is the first argument.

use oxorb::Orb;
use oxorb_example_device::control::device::OnError;
use oxorb_example_device::control::{DevFailed, DeviceRef, Reading};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let [_, reference] = orb.args() else {
        return Err("usage: client REFERENCE".into());
    };
    let device: DeviceRef = orb.resolve(reference)?;

    device.on()?;
    device.write_voltage(12.5)?;
    show(&device)?;

    // The device cannot supply this voltage.
    device.write_voltage(40.0)?;
    show(&device)?;
    match device.on() {
        Err(OnError::DevFailed(DevFailed { reason, description, origin })) => {
            println!("{reason}: {description} ({origin})");
        }
        other => println!("unexpected: {other:?}"),
    }

    device.reset()?;
    show(&device)?;
    Ok(())
}

/// Prints the state and the voltage of a device.
fn show(device: &DeviceRef) -> oxorb::Result<()> {
    let Reading { value, quality, .. } = device.voltage()?;
    println!("{:?}: {value} V, {quality:?}", device.state()?);
    Ok(())
}
