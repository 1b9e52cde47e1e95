//! A host in a federation: its zenoh session.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use zenoh::{Config, Session, Wait};

use crate::FederationError;

/// Place of a host among the hosts of a federation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Passes on events between other hosts, and finds other ways when one is lost.
    Router,
    /// Connects to every peer that it finds, and to routers.
    #[default]
    Peer,
    /// Connects to one router at a time.
    Client,
}

/// Settings of a host in a federation.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Place among the hosts. Default [`Mode::Peer`].
    pub mode: Mode,
    /// Endpoints to listen at, such as `tcp/0.0.0.0:7447`. Default: zenoh's, which are port 7447 for a router, and a free
    /// port for a peer.
    pub listen: Vec<String>,
    /// Endpoints of other hosts, such as `tcp/10.0.0.7:7447`. One that does not answer is tried again after each second,
    /// then after up to 4 s, for ever; so is one that was lost.
    pub connect: Vec<String>,
    /// Whether other hosts of the local network are looked for by multicast (224.0.0.224, port 7446). Default off.
    pub scouting: bool,
}

/// A host in a federation. Cheap to clone: all clones are the same host, which leaves with the last of them.
///
/// zenoh runs in threads of its own, at no real-time priority.
#[derive(Clone)]
pub struct Federation {
    session: Session,
}

/// Batches of each urgent priority on a connection: zenoh's most.
const BURST: &str = "16";
/// Time for which zenoh waits for room before it drops an event. Only the gateway's own thread waits.
const WAIT: Duration = Duration::from_millis(10);

impl Federation {
    /// Joins a federation. Does not wait until another host is reached, except for a client, which looks for its router
    /// until it answers.
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
        // Events that are not collected into batches take one each: a burst needs several.
        for priority in ["real_time", "interactive_high", "interactive_low"] {
            set(&format!("{queue}/size/{priority}"), BURST)?;
        }
        let room = format!("{queue}/congestion_control/drop/wait_before_drop");
        set(&room, &WAIT.as_micros().to_string())?;
        Self::open(config)
    }

    /// Joins a federation with zenoh's own settings, of which there are many more than [`Node`] has: such as encryption and
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

    /// Returns the number of hosts that this one is connected to at present.
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
