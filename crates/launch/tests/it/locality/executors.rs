//! Components of a cockpit. Each records its actions in a shared log.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use oxorb::components::{CcmException, CcmExceptionReason};
use oxorb::deployment::Implementations;
use oxorb::policy::PriorityBandedConnection;
use oxorb::values::Value;
use oxorb::{Interface, Orb};

use crate::locality::avionics::{
    self, Alarm, DisplayRef, GpsHomeRef, GpsRef, RateGenRef, Tick, display, gps, rate_gen,
};

/// Log of actions, in order. If requested, its lines are also printed to standard output.
#[derive(Clone, Default)]
pub(crate) struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    prints: bool,
}

impl Log {
    pub(crate) fn printing() -> Log {
        Log { prints: true, ..Log::default() }
    }

    fn note(&self, line: impl Into<String>) {
        let line = line.into();
        if self.prints {
            println!("{line}");
        }
        self.lines.lock().unwrap().push(line);
    }

    /// Takes all lines out of the log.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

/// Contexts of the active rate generators.
pub(crate) type Sources = Arc<Mutex<Vec<rate_gen::Context>>>;

pub(crate) struct RateGen {
    hertz: Mutex<u32>,
    log: Log,
    sources: Sources,
    /// Dropping this sender ends the pushing thread.
    ends: Mutex<Option<Sender<()>>>,
    pushes: bool,
}

impl avionics::RateGenExecutor for RateGen {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(*self.hertz.lock().unwrap())
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        *self.hertz.lock().unwrap() = value;
        self.log.note(format!("hertz {value}"));
        Ok(())
    }

    fn activate(&self, context: &rate_gen::Context) -> Result<(), CcmException> {
        self.log.note(format!("{} activate", context.instance_name()));
        self.sources.lock().unwrap().push(context.clone());
        if self.pushes {
            let (sender, end) = channel::<()>();
            *self.ends.lock().unwrap() = Some(sender);
            let context = context.clone();
            std::thread::spawn(move || {
                let mut count = 0;
                // `recv_timeout` times out for each tick until the sender is dropped, which ends the loop.
                while end
                    .recv_timeout(Duration::from_millis(20))
                    .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    count += 1;
                    context.push_pulse(Value::new(Tick { count }));
                }
            });
        }
        Ok(())
    }

    fn passivate(&self, context: &rate_gen::Context) -> Result<(), CcmException> {
        self.log.note(format!("{} passivate", context.instance_name()));
        self.ends.lock().unwrap().take();
        Ok(())
    }

    fn remove(&self, context: &rate_gen::Installed) -> Result<(), CcmException> {
        self.log.note(format!("{} remove", context.instance_name()));
        self.sources.lock().unwrap().clear();
        Ok(())
    }
}

pub(crate) struct Gps {
    latitude: Mutex<f64>,
    test: Mutex<bool>,
    log: Log,
    orb: Arc<OnceLock<Orb>>,
}

impl avionics::Position for Gps {
    /// Logs the priority and the lane of the serving thread.
    fn latitude(&self) -> oxorb::Result<f64> {
        if let Some(lane) = self.orb.get().and_then(|orb| orb.current_lane()) {
            let priority = self.orb.get().and_then(|orb| orb.thread_priority());
            let priority = priority.map(|priority| priority.get());
            self.log.note(format!("served in lane {} at {priority:?}", lane.lane));
        }
        Ok(*self.latitude.lock().unwrap())
    }
}

impl avionics::Mode for Gps {
    fn test(&self) -> oxorb::Result<bool> {
        Ok(*self.test.lock().unwrap())
    }

    fn set_test(&self, value: bool) -> oxorb::Result<()> {
        *self.test.lock().unwrap() = value;
        self.log.note(format!("test {value}"));
        Ok(())
    }
}

impl avionics::GpsExecutor for Gps {
    fn offset(&self) -> oxorb::Result<f64> {
        Ok(0.0)
    }

    fn set_offset(&self, value: f64) -> Result<(), avionics::gps::SetOffsetError> {
        if value > 90.0 {
            let (least, most) = (0.0, 90.0);
            return Err(avionics::OutOfRange { least, most }.into());
        }
        *self.latitude.lock().unwrap() += value;
        Ok(())
    }

    fn location(self: &Arc<Self>, _: &gps::Context) -> Arc<dyn avionics::Position> {
        self.clone()
    }

    fn raw(self: &Arc<Self>, _: &gps::Context) -> Arc<dyn oxorb::Servant> {
        <avionics::PositionRef as oxorb::servant::ServedBy<_>>::servant(Arc::clone(self))
    }

    fn push_refresh(&self, context: &gps::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        context.push_ready(tick);
        Ok(())
    }

    fn set_session_context(&self, context: &gps::Installed) -> Result<(), CcmException> {
        self.log.note(format!("{} set_session_context", context.instance_name()));
        match context.instance_name() {
            "broken" => Err(CcmException { reason: CcmExceptionReason::CreateError }),
            _ => Ok(()),
        }
    }

    fn activate(&self, context: &gps::Context) -> Result<(), CcmException> {
        self.log.note(format!("{} activate", context.instance_name()));
        Ok(())
    }

    fn passivate(&self, context: &gps::Context) -> Result<(), CcmException> {
        self.log.note(format!("{} passivate", context.instance_name()));
        Ok(())
    }

    fn remove(&self, context: &gps::Installed) -> Result<(), CcmException> {
        self.log.note(format!("{} remove", context.instance_name()));
        Ok(())
    }
}

pub(crate) struct Display {
    log: Log,
}

impl avionics::DisplayExecutor for Display {
    fn push_update(&self, context: &display::Context, tick: &Value<Tick>) -> oxorb::Result<()> {
        let latitude = context.source()?.latitude()?;
        self.log.note(format!("update {} {latitude}", tick.count));
        Ok(())
    }

    fn push_warning(&self, context: &display::Context, alarm: &Value<Alarm>) -> oxorb::Result<()> {
        let mut others = Vec::new();
        for other in context.others().iter() {
            others.push(other.latitude()?);
        }
        self.log.note(format!("{} {others:?}", alarm.text));
        Ok(())
    }

    fn activate(&self, context: &display::Context) -> Result<(), CcmException> {
        let source = context.source().ok();
        let bands = source.and_then(|source| source.reference().client_policy());
        let bands: Option<PriorityBandedConnection> = bands;
        if let Some(bands) = bands {
            let many = bands.bands().len();
            self.log.note(format!("{}: {many} bands", context.instance_name()));
        }
        self.log.note(format!("{} activate", context.instance_name()));
        Ok(())
    }

    fn remove(&self, context: &display::Installed) -> Result<(), CcmException> {
        self.log.note(format!("{} remove", context.instance_name()));
        Ok(())
    }
}

pub(crate) struct Receivers(Parts);

impl avionics::Mode for Receivers {
    fn test(&self) -> oxorb::Result<bool> {
        Ok(true)
    }

    fn set_test(&self, value: bool) -> oxorb::Result<()> {
        self.0.log.note(format!("home test {value}"));
        Ok(())
    }
}

impl avionics::GpsHomeExecutor for Receivers {
    type Component = Gps;

    fn create(&self) -> Result<Gps, avionics::gps_home_implicit::CreateError> {
        Ok(self.0.gps())
    }

    fn made(&self) -> oxorb::Result<u32> {
        Ok(0)
    }

    fn set_made(&self, _: u32) -> oxorb::Result<()> {
        Ok(())
    }

    fn at(&self, _: f64) -> Result<Gps, avionics::gps_home_explicit::AtError> {
        Ok(self.0.gps())
    }
}

/// State shared by executors.
#[derive(Clone, Default)]
pub(crate) struct Parts {
    pub(crate) log: Log,
    pub(crate) sources: Sources,
    pub(crate) orb: Arc<OnceLock<Orb>>,
    /// Whether rate generators push periodically, without a call from the test.
    pub(crate) pushes: bool,
}

impl Parts {
    fn gps(&self) -> Gps {
        Gps {
            latitude: Mutex::new(48.5),
            test: Mutex::new(false),
            log: self.log.clone(),
            orb: Arc::clone(&self.orb),
        }
    }

    pub(crate) fn implementations(&self) -> Implementations {
        let [rate, gps, display, home] = [(); 4].map(|()| self.clone());
        Implementations::new()
            .component::<RateGenRef, _>("create_Avionics_RateGen_Impl", move || RateGen {
                hertz: Mutex::new(0),
                log: rate.log.clone(),
                sources: Arc::clone(&rate.sources),
                ends: Mutex::new(None),
                pushes: rate.pushes,
            })
            .component::<GpsRef, _>("create_Avionics_Gps_Impl", move || gps.gps())
            .component::<DisplayRef, _>("create_Avionics_Display_Impl", move || Display {
                log: display.log.clone(),
            })
            .home::<GpsHomeRef, _>("create_Avionics_GpsHome_Impl", move || Receivers(home.clone()))
    }
}
