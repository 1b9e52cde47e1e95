//! Serves a power supply until Ctrl-C or SIGTERM.

use oxorb::prelude::*;
use oxorb_example_device::PowerSupply;
use oxorb_example_device::control::DeviceRef;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orb = Orb::builder().args(std::env::args()).build()?;
    let device: DeviceRef = orb.root_poa().activate(PowerSupply::default())?;
    // The name of the device, as in corbaloc::HOST:PORT/lab/supply/1
    orb.bind("lab/supply/1", &device);
    orb.shutdown_on_signal()?;
    println!("{}", device.to_ior());
    orb.run();
    Ok(())
}
