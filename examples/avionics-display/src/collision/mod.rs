//! The collision subsystem, which was added later: a radar and a warning display. It uses the existing timer.

mod radar;
mod warning;

use oxorb::deployment::Implementations;

use crate::avionics::{DisplayRef, SensorRef};
use radar::CollisionRadar;
use warning::WarningDisplay;

/// Adds the subsystem's implementations.
pub(crate) fn implementations(known: Implementations) -> Implementations {
    known
        .component::<SensorRef, _>("create_CollisionRadar", CollisionRadar::new)
        .component::<DisplayRef, _>("create_WarningDisplay", WarningDisplay::default)
}
