//! Component server of the interoperability test: two homes, whose references are written to a file, one per line.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use interop_components::{
    Channel, SensorHomeRef, SensorStoreRef, Tick, sensor, sensor_home_explicit,
    sensor_home_implicit, sensor_store_explicit, sensor_store_implicit,
};
use oxorb::components::Container;
use oxorb::values::Value;
use oxorb::{Interface, Orb};

oxorb::include_idl!("interop_components");

/// Component with one port of each kind.
struct Sensor {
    latitude: f64,
    hertz: AtomicU32,
}

impl Sensor {
    fn at(latitude: f64) -> Self {
        let hertz = AtomicU32::new(0);
        Sensor { latitude, hertz }
    }
}

impl interop_components::Position for Sensor {
    fn latitude(&self) -> oxorb::Result<f64> {
        Ok(self.latitude)
    }
}

impl interop_components::SensorExecutor for Sensor {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(self.hertz.load(Ordering::Relaxed))
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        self.hertz.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn location(self: &Arc<Self>, _: &sensor::Context) -> Arc<dyn interop_components::Position> {
        self.clone()
    }

    fn push_refresh(&self, context: &sensor::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        let next = Value::new(Tick { count: tick.count + 1 });
        context.push_ready(&next);
        context.push_pulse(&next);
        Ok(())
    }
}

struct Sensors;

impl interop_components::SensorHomeExecutor for Sensors {
    type Component = Sensor;

    fn create(&self) -> Result<Sensor, sensor_home_implicit::CreateError> {
        Ok(Sensor::at(0.0))
    }

    fn at(&self, latitude: f64) -> Result<Sensor, sensor_home_explicit::AtError> {
        Ok(Sensor::at(latitude))
    }
}

impl interop_components::SensorStoreExecutor for Sensors {
    type Component = Sensor;

    fn create(&self, key: &Value<Channel>) -> Result<Sensor, sensor_store_implicit::CreateError> {
        Ok(Sensor::at(f64::from(key.number)))
    }

    fn first(&self) -> Result<Value<Channel>, sensor_store_explicit::FirstError> {
        let (site, number) = ("north".to_owned(), 1);
        Ok(Value::new(Channel { site, number }))
    }
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(option), Some(file), None) = (args.next(), args.next(), args.next()) else {
        return Err("usage: interop-components --ior-file FILE".into());
    };
    if option != "--ior-file" {
        return Err(format!("unknown argument {option}").into());
    }
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    let container = Container::builder(orb.root_poa(), "interop")
        // The client's process starts, together with others.
        .push_timeout(Duration::from_secs(20))
        .create()?;
    let home: SensorHomeRef = container.install_home("home", Sensors)?;
    let store: SensorStoreRef = container.install_home("store", Sensors)?;
    let part = format!("{file}.part");
    std::fs::write(&part, format!("{}\n{}\n", home.to_ior(), store.to_ior()))?;
    std::fs::rename(part, file)?;
    orb.run();
    Ok(())
}

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("interop-components: {error}");
            ExitCode::FAILURE
        }
    }
}
