//! Executors in the form that users write.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use oxorb::components::{CcmException, CcmExceptionReason, InvalidConfiguration};
use oxorb::values::Value;
use oxorb_component_tests::avionics::gps_home_explicit::AtError;
use oxorb_component_tests::avionics::{self, display, gps, rate_gen};

/// Calls of a component, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Executor that pushes on request, through a context that it keeps while active.
#[derive(Default)]
pub(crate) struct RateGen {
    hertz: AtomicU32,
    pub(crate) context: Arc<OnceLock<rate_gen::Context>>,
}

impl avionics::RateGenExecutor for RateGen {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(self.hertz.load(Ordering::Relaxed))
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        self.hertz.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn activate(&self, context: &rate_gen::Context) -> Result<(), CcmException> {
        let _ = self.context.set(context.clone());
        Ok(())
    }
}

pub(crate) struct Gps {
    pub(crate) latitude: f64,
    pub(crate) log: Log,
    test: AtomicBool,
}

impl Gps {
    pub(crate) fn at(latitude: f64) -> Gps {
        Gps { latitude, log: Log::default(), test: AtomicBool::new(false) }
    }
}

impl avionics::Position for Gps {
    fn latitude(&self) -> oxorb::Result<f64> {
        Ok(self.latitude)
    }
}

impl avionics::Mode for Gps {
    fn test(&self) -> oxorb::Result<bool> {
        Ok(self.test.load(Ordering::Relaxed))
    }

    fn set_test(&self, value: bool) -> oxorb::Result<()> {
        self.test.store(value, Ordering::Relaxed);
        Ok(())
    }
}

impl avionics::GpsExecutor for Gps {
    fn offset(&self) -> oxorb::Result<f64> {
        Ok(0.0)
    }

    fn set_offset(&self, _: f64) -> Result<(), avionics::gps::SetOffsetError> {
        let (least, most) = (0.0, 0.0);
        Err(avionics::OutOfRange { least, most }.into())
    }

    fn location(self: &Arc<Self>, _: &gps::Context) -> Arc<dyn avionics::Position> {
        self.clone()
    }

    fn raw(self: &Arc<Self>, _: &gps::Context) -> Arc<dyn oxorb::Servant> {
        <avionics::PositionRef as oxorb::servant::ServedBy<_>>::servant(Arc::clone(self))
    }

    fn push_refresh(
        &self,
        context: &gps::Context,
        tick: &Value<avionics::Tick>,
    ) -> oxorb::Result<()> {
        self.log.note(format!("refresh {}", tick.count));
        context.push_ready(tick);
        Ok(())
    }

    fn set_session_context(&self, context: &gps::Installed) -> Result<(), CcmException> {
        self.log.note(format!("set_session_context {}", context.instance_name()));
        match self.latitude.is_nan() {
            true => Err(CcmException { reason: CcmExceptionReason::SystemError }),
            false => Ok(()),
        }
    }

    fn configuration_complete(&self, _: &gps::Configured) -> Result<(), InvalidConfiguration> {
        self.log.note("configuration_complete");
        Ok(())
    }

    fn activate(&self, _: &gps::Context) -> Result<(), CcmException> {
        self.log.note("activate");
        Ok(())
    }

    fn passivate(&self, _: &gps::Context) -> Result<(), CcmException> {
        self.log.note("passivate");
        Ok(())
    }

    fn remove(&self, _: &gps::Installed) -> Result<(), CcmException> {
        self.log.note("remove");
        match self.latitude == 66.0 {
            true => Err(CcmException { reason: CcmExceptionReason::RemoveError }),
            false => Ok(()),
        }
    }
}

#[derive(Default)]
pub(crate) struct Display {
    pub(crate) log: Log,
    /// Whether it refuses its configuration while nothing is connected.
    pub(crate) strict: bool,
}

impl avionics::DisplayExecutor for Display {
    fn push_update(
        &self,
        context: &display::Context,
        tick: &Value<avionics::Tick>,
    ) -> oxorb::Result<()> {
        let latitude = context.source()?.latitude()?;
        self.log.note(format!("update {} {latitude}", tick.count));
        Ok(())
    }

    fn push_warning(
        &self,
        context: &display::Context,
        alarm: &Value<avionics::Alarm>,
    ) -> oxorb::Result<()> {
        let mut others = Vec::new();
        for other in context.others().iter() {
            others.push(other.latitude()?);
        }
        self.log.note(format!("{} {others:?}", alarm.text));
        Ok(())
    }

    fn configuration_complete(
        &self,
        context: &display::Configured,
    ) -> Result<(), InvalidConfiguration> {
        match context.source() {
            Err(error) if self.strict => {
                self.log.note(error.to_string());
                Err(InvalidConfiguration {})
            }
            _ => Ok(()),
        }
    }
}

/// Home of [`Gps`].
#[derive(Default)]
pub(crate) struct Receivers {
    made: AtomicU32,
}

impl avionics::Mode for Receivers {
    fn test(&self) -> oxorb::Result<bool> {
        Ok(true)
    }

    fn set_test(&self, _: bool) -> oxorb::Result<()> {
        Ok(())
    }
}

impl avionics::GpsHomeExecutor for Receivers {
    type Component = Gps;

    fn create(&self) -> Result<Gps, avionics::gps_home_implicit::CreateError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(Gps::at(1.0))
    }

    fn made(&self) -> oxorb::Result<u32> {
        Ok(self.made.load(Ordering::Relaxed))
    }

    fn set_made(&self, value: u32) -> oxorb::Result<()> {
        self.made.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn at(&self, latitude: f64) -> Result<Gps, AtError> {
        let (least, most) = (-90.0, 90.0);
        match latitude.is_nan() || (least..=most).contains(&latitude) {
            true => Ok(Gps::at(latitude)),
            false => Err(avionics::OutOfRange { least, most }.into()),
        }
    }
}
