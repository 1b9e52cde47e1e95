//! The plans and their real-time resources, embedded for programs that link this crate.

/// The navigation subsystem alone.
pub const NAVIGATION: &str = include_str!("../plans/navigation.toml");
/// Real-time resources of [`NAVIGATION`].
pub const NAVIGATION_RT: &str = include_str!("../plans/navigation.rt.toml");
/// Both subsystems.
pub const WITH_WARNING: &str = include_str!("../plans/with-warning.toml");
/// Real-time resources of [`WITH_WARNING`].
pub const WITH_WARNING_RT: &str = include_str!("../plans/with-warning.rt.toml");
