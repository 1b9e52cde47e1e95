//! Limits and behaviour of a container.

use std::time::Duration;

/// Limits and behaviour of a container, shared with its components.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) max_components: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_key_octets: usize,
    pub(crate) push_timeout: Duration,
    pub(crate) push_failures: u32,
    pub(crate) lightweight: bool,
    pub(crate) explicit_activation: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_components: 1024,
            max_connections: 256,
            max_key_octets: 1024,
            push_timeout: Duration::from_secs(1),
            push_failures: 3,
            lightweight: false,
            explicit_activation: false,
        }
    }
}
