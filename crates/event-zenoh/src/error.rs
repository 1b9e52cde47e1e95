use std::fmt;
use std::io;

use oxorb_event::ConnectError;
use oxorb_event::delivery::{self, DispatcherError};

/// Reason why a host cannot join a federation, or a channel cannot share its events.
#[non_exhaustive]
pub enum FederationError {
    /// zenoh rejects a setting.
    Setting {
        /// Path of the setting in zenoh's configuration.
        setting: String,
        /// Explanation by zenoh.
        why: String,
    },
    /// zenoh cannot start, because an endpoint is in use or no router can be reached.
    Open(String),
    /// zenoh rejects a declaration.
    Declare(String),
    /// The channel refuses the gateway.
    Channel(ConnectError),
    /// The threads of the queues cannot be started.
    Threads(DispatcherError),
    /// The dispatcher refuses the queues, because one of their sizes is 0.
    Queue(delivery::OutletConnectError),
    /// The thread of the gateway cannot be started.
    Thread(io::Error),
}

impl fmt::Display for FederationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("federation of event channels: ")?;
        match self {
            Self::Setting { setting, why } => {
                write!(
                    f,
                    "zenoh rejects {setting}: {why}; an endpoint has a form such as tcp/10.0.0.7:7447"
                )
            }
            Self::Open(why) => write!(
                f,
                "zenoh cannot start: {why}; check that no other process listens at the endpoints and, for a client, \
                 that a router is running"
            ),
            Self::Declare(why) => write!(f, "zenoh rejects a declaration: {why}"),
            Self::Channel(error) => write!(f, "the channel rejects the gateway: {error}"),
            Self::Threads(error) => write!(f, "{error}"),
            Self::Queue(error) => write!(f, "the queues cannot be created: {error}"),
            Self::Thread(error) => {
                write!(f, "the thread of the gateway cannot be started: {error}")
            }
        }
    }
}

impl fmt::Debug for FederationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for FederationError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setting { .. } | Self::Open(_) | Self::Declare(_) => None,
            Self::Channel(error) => Some(error),
            Self::Threads(error) => Some(error),
            Self::Queue(error) => Some(error),
            Self::Thread(error) => Some(error),
        }
    }
}
