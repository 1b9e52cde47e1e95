//! The navigation subsystem: a timer, a GPS receiver, and a display in the cockpit.

mod display;
mod gps;

use oxorb::deployment::Implementations;

use crate::avionics::{DisplayRef, RateGeneratorRef, SensorRef};
use crate::rate_generator::RateGenerator;
use display::NavigationDisplay;
use gps::Gps;

/// Adds the subsystem's implementations.
pub(crate) fn implementations(known: Implementations) -> Implementations {
    known
        .component::<RateGeneratorRef, _>(
            "create_Avionics_RateGenerator_Impl",
            RateGenerator::default,
        )
        .component::<SensorRef, _>("create_Gps", Gps::new)
        .component::<DisplayRef, _>("create_NavigationDisplay", NavigationDisplay::default)
}
