//! Configuration from TOML files, and personalities: ready-made combinations of settings.
//!
//! The table `[orb]` of a file holds the settings of `-ORB` arguments under the same names; other
//! tables describe threadpools, a schedule and access rules:
//!
//! ```toml
//! personality = "avionics"            # base that the other tables override; optional
//!
//! [orb]
//! RoundTripTimeout = 250              # -ORBRoundTripTimeout 250
//! ListenEndpoints = ["iiop://:5000"]  # a list
//! LockMemory = true                   # 1
//!
//! [threadpool.control]                # Orb::threadpool_named("control")
//! borrowing = false
//! stack_size = 262144
//! buffering = { requests = 64, octets = 65536 }
//!
//! [[threadpool.control.lane]]
//! name = "50 Hz"                      # shown in messages
//! priority = 32000                    # CORBA priority, 0 to 32767
//! threads = 2
//! dynamic = 4
//! cpu = 1
//!
//! [schedule]                          # the schedule that the ORB enforces
//! table = "schedule.json"             # from `oxorb sched emit --language json`; relative to this file
//! measure = true                      # response and processor times, for `oxorb sched watch`
//!
//! [access]                            # permitted calls; the first rule that matches decides
//! default = "deny"                    # for requests that no rule matches; required
//!
//! [[access.rule]]
//! allow = ["tls:CN=alice,O=Bank", "uid:1000", "10.0.0.0/8"]   # or deny; "all"
//! object = "accounts/*"               # POAs below the root, and the object id
//! interface = "IDL:bank/Account:1.0"
//! operation = ["balance", "deposit"]
//! protected = true                    # only over TLS
//!
//! [[access.rule]]
//! limit = "10.0.0.0/8"                # limits the requests of each client
//! requests = 100                      # per second
//! burst = 20                          # that may arrive together
//! ```
//!
//! The personalities included in OxORB are files of this form: [`PERSONALITIES`].
//!
//! Files are read when a process starts; nothing here runs on the path of a request. A file with only the table
//! `[access]` (`-ORBAccessRules`) can be read again while an ORB runs:
//! [`reload_access_rules`](crate::Orb::reload_access_rules).

mod access;
mod error;
mod file;
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "gateway")]
mod gateway;
mod personality;
mod reload;
mod schedule;
mod text;
mod threadpool;

pub use error::ConfigError;
pub use file::Configuration;
#[cfg(feature = "gateway")]
pub use gateway::{GatewayFile, GatewayObject};
pub use personality::{PERSONALITIES, Personality};
pub(crate) use reload::reload_access_rules;
