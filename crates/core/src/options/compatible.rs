//! Options that contradict each other.

use std::fmt;

use oxorb_object::Version;

use crate::Options;
use crate::options::{CONNECTIONS_PER_CLIENT, ClientConnections};
use crate::{Concurrency, ReactorChoice};

/// Pair of options that are valid alone but contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{one} and {other} cannot be combined: {reason}")]
pub struct IncompatibleOptions {
    /// First setting, as an argument would set it.
    pub one: &'static str,
    /// Second setting, as an argument would set it.
    pub other: &'static str,
    /// Reason of the conflict, and its remedy.
    pub reason: &'static str,
}

struct CompatibilityRule {
    applies: fn(&Options) -> bool,
    says: IncompatibleOptions,
}

static RULES: &[CompatibilityRule] = &[
    CompatibilityRule {
        applies: |options| {
            options.client_connections == ClientConnections::Private && options.offer_bidirectional
        },
        says: IncompatibleOptions {
            one: "-ORBClientConnections private",
            other: "-ORBOfferBiDirectionalGIOP 1",
            reason: "a server that may call back is called over one connection that all threads share, so threads \
                     cannot have private connections; use cached connections, or a separate ORB for the callbacks",
        },
    },
    CompatibilityRule {
        applies: |options| options.fragment_size.is_some() && options.max_giop != Version::V1_2,
        says: IncompatibleOptions {
            one: "-ORBFragmentSize",
            other: "-ORBMaxGIOPVersion 1.0 or 1.1",
            reason: "fragments are sent only with GIOP 1.2; omit one of the two settings",
        },
    },
    CompatibilityRule {
        applies: |options| {
            options.reactor != ReactorChoice::Epoll
                && options.concurrency == Concurrency::ThreadPerConnection
        },
        says: IncompatibleOptions {
            one: "-ORBReactor busy-poll",
            other: "-ORBConcurrency thread-per-connection",
            reason: "a thread with one connection waits only for this connection and needs no reactor; use busy-poll \
                     with reactive or leader-followers:N, or for threadpools (reactor of the pool)",
        },
    },
    CompatibilityRule {
        applies: |options| {
            let most = options.max_connections;
            options
                .max_connections_per_client
                // The default may exceed a lower `MaxConnections`. It then has no effect, and is not a conflict.
                .is_some_and(|each| each > most && each != CONNECTIONS_PER_CLIENT)
        },
        says: IncompatibleOptions {
            one: "-ORBMaxConnectionsPerClient",
            other: "-ORBMaxConnections",
            reason: "one client cannot have more connections than all clients together; raise MaxConnections",
        },
    },
];

impl Options {
    /// Checks that the options do not contradict each other.
    ///
    /// ```
    /// let mut options = oxorb_core::Options::default();
    /// options.set("ClientConnections", "private")?;
    /// options.set("OfferBiDirectionalGIOP", "1")?;
    /// let refused = options.check().unwrap_err();
    /// assert!(refused.to_string().contains("OfferBiDirectionalGIOP"));
    /// # Ok::<(), oxorb_core::SettingError>(())
    /// ```
    ///
    /// # Errors
    /// The first pair of options that contradict each other, and why.
    pub fn check(&self) -> Result<(), IncompatibleOptions> {
        let broken = RULES.iter().find(|rule| (rule.applies)(self));
        broken.map_or(Ok(()), |rule| Err(rule.says))
    }
}

impl fmt::Debug for IncompatibleOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_refuses_what_it_is_about() {
        let cases: [&[(&str, &str)]; 4] = [
            &[("ClientConnections", "private"), ("OfferBiDirectionalGIOP", "1")],
            &[("FragmentSize", "4096"), ("MaxGIOPVersion", "1.1")],
            &[("Reactor", "busy-poll:50"), ("Concurrency", "thread-per-connection")],
            &[("MaxConnectionsPerClient", "9"), ("MaxConnections", "8")],
        ];
        assert_eq!(cases.len(), RULES.len());
        for (case, rule) in cases.iter().zip(RULES) {
            let mut options = Options::default();
            for (name, value) in *case {
                options.set(name, value).unwrap();
            }
            assert_eq!(options.check(), Err(rule.says));
        }
        assert_eq!(Options::default().check(), Ok(()));
    }
}
