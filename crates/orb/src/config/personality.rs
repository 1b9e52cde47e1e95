//! Personalities included in OxORB.

/// A named configuration, as the text of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Personality {
    /// Name for `-ORBPersonality`.
    pub name: &'static str,
    /// Purpose.
    pub purpose: &'static str,
    /// Complete configuration, in TOML.
    pub text: &'static str,
}

/// All personalities included in OxORB.
///
/// ```
/// use oxorb::config::{Configuration, PERSONALITIES};
///
/// for personality in PERSONALITIES {
///     Configuration::personality(personality.name)?;
/// }
/// # Ok::<(), oxorb::config::ConfigError>(())
/// ```
pub const PERSONALITIES: [Personality; 4] = [
    Personality {
        name: "avionics",
        purpose: "a lane for each rate, private connections, SCHED_FIFO, locked memory, UNIX sockets before TCP, perfect hashing",
        text: include_str!("../../personalities/avionics.toml"),
    },
    Personality {
        name: "imaging",
        purpose: "a thread for each connection, large messages, throughput preferred to latency, TCP, active \
                  demultiplexing",
        text: include_str!("../../personalities/imaging.toml"),
    },
    Personality {
        name: "general",
        purpose: "a few workers for many clients, idle connections are closed",
        text: include_str!("../../personalities/general.toml"),
    },
    Personality {
        name: "tao",
        purpose: "the defaults of TAO: direct priority mapping, ISO 8859-1, shared connections, calls without time \
                  limits",
        text: include_str!("../../personalities/tao.toml"),
    },
];
