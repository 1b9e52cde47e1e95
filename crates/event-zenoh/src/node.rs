//! A host in a federation: its zenoh session.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use zenoh::{Config, Session, Wait};

use crate::FederationError;

/// Role of a host among the hosts of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Passes on events between other hosts, and reroutes when a connection is lost.
    Router,
    /// Connects to every peer that is found, and to routers.
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
    /// Endpoints to listen on, such as `tcp/0.0.0.0:7447`. Default: zenoh's, that is port 7447 for a router, and a free
    /// port for a peer.
    pub listen: Vec<String>,
    /// Endpoints of other hosts, such as `tcp/10.0.0.7:7447`. A connection that fails or is lost is retried after 1 s,
    /// later after up to 4 s, without limit.
    pub connect: Vec<String>,
    /// Whether other hosts of the local network are found by multicast (224.0.0.224, port 7446). Default off.
    pub scouting: bool,
}

/// A host in a federation. Cheap to clone: all clones refer to the same host, which leaves the federation when the last
/// clone is dropped.
///
/// zenoh runs in its own threads, without real-time priority.
#[derive(Clone)]
pub struct Federation {
    session: Session,
}

/// Number of batches of each urgent priority per connection: zenoh's maximum.
const BURST: &str = "16";
/// Time for which zenoh waits for queue space before it drops an event. Only the gateway's own thread waits.
const WAIT: Duration = Duration::from_millis(10);

impl Federation {
    /// Joins a federation. Does not wait until another host is reached, except for a client, which waits for its router
    /// to answer.
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
        // Events that are not collected into batches take a batch each, so a burst needs several.
        for priority in ["real_time", "interactive_high", "interactive_low"] {
            set(&format!("{queue}/size/{priority}"), BURST)?;
        }
        let room = format!("{queue}/congestion_control/drop/wait_before_drop");
        set(&room, &WAIT.as_micros().to_string())?;
        Self::open(config)
    }

    /// Joins a federation with a configuration of zenoh, which has many more settings than [`Node`], such as encryption
    /// and access control.
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
        found.ok_or_else(|| format!("no mode is called {text}: router, peer or client"))
    }
}
