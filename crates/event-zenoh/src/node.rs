//! A host in a federation: its zenoh session.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use zenoh::{Config, Session, Wait};

use crate::FederationError;

/// Role of a host among the hosts of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Forwards events between other hosts, and uses other routes if a connection is lost.
    Router,
    /// Connects to routers and to every peer that it discovers.
    #[default]
    Peer,
    /// Connects to one router at a time.
    Client,
}

/// Settings of a host in a federation.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Role of the host. Default [`Mode::Peer`].
    pub mode: Mode,
    /// Endpoints to listen on, such as `tcp/0.0.0.0:7447`. By default, a router listens on port 7447, and a peer on a
    /// free port.
    pub listen: Vec<String>,
    /// Endpoints of other hosts, such as `tcp/10.0.0.7:7447`. If a connection fails or is lost, zenoh retries it after
    /// 1 s, and later at intervals of up to 4 s, without limit.
    pub connect: Vec<String>,
    /// Whether the host discovers other hosts of the local network by multicast (224.0.0.224, port 7446). Default off.
    pub scouting: bool,
}

/// A host in a federation. Cheap to clone. All clones refer to the same host, which leaves the federation when the last
/// clone is dropped.
///
/// zenoh runs in its own threads, without real-time priority.
#[derive(Clone)]
pub struct Federation {
    session: Session,
}

/// Number of batches of each urgent priority per connection, the maximum that zenoh permits.
const BURST: &str = "16";
/// Time for which zenoh waits for queue space before it drops an event. Only a thread of the gateway waits.
const WAIT: Duration = Duration::from_millis(10);

impl Federation {
    /// Joins a federation. Does not wait for other hosts, except that a client waits until its router answers.
    ///
    /// # Errors
    /// [`FederationError::Setting`], [`FederationError::Open`].
    pub fn join(node: &Node) -> Result<Federation, FederationError> {
        let mut config = Config::default();
        let mut set = |setting: &str, value: &str| {
            let done = config.insert_json5(setting, value);
            done.map_err(|why| FederationError::Setting {
                setting: setting.to_owned(),
                why: why.to_string(),
            })
        };
        set("mode", &format!("{:?}", node.mode.name()))?;
        if !node.listen.is_empty() {
            set("listen/endpoints", &format!("{:?}", node.listen))?;
        }
        set("connect/endpoints", &format!("{:?}", node.connect))?;
        set("connect/timeout_ms", "-1")?;
        set("connect/exit_on_failure", "false")?;
        set("scouting/multicast/enabled", &node.scouting.to_string())?;
        let queue = "transport/link/tx/queue";
        // zenoh does not collect events of these priorities into batches, so a burst needs one batch for each event.
        for priority in ["real_time", "interactive_high", "interactive_low"] {
            set(&format!("{queue}/size/{priority}"), BURST)?;
        }
        let room = format!("{queue}/congestion_control/drop/wait_before_drop");
        set(&room, &WAIT.as_micros().to_string())?;
        Self::open(config)
    }

    /// Joins a federation with a configuration of zenoh, which has settings that [`Node`] lacks, such as encryption and
    /// access control.
    ///
    /// # Errors
    /// [`FederationError::Open`].
    pub fn open(config: Config) -> Result<Federation, FederationError> {
        let opened = zenoh::open(config).wait();
        let session = opened.map_err(|why| FederationError::Open(why.to_string()))?;
        Ok(Federation { session })
    }

    /// Returns the zenoh session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Returns the number of hosts to which this one is connected.
    pub fn neighbours(&self) -> usize {
        let info = self.session.info();
        info.routers_zid().wait().count() + info.peers_zid().wait().count()
    }
}

impl fmt::Debug for Federation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Federation({})", self.session.zid())
    }
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Peer => "peer",
            Self::Client => "client",
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let all = [Mode::Router, Mode::Peer, Mode::Client];
        let found = all.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| format!("there is no mode {text}; expected router, peer or client"))
    }
}
