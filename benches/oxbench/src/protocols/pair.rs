//! Processes of one protocol: a server and a client, or a single one if they communicate through its memory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cube::{Cube, Operation};
use super::matrix::{FILE, Maker, Protocol, Transport, Way};
use crate::Result;
use crate::peers::omniorb::Cubits;
use crate::peers::{apart, own_side};
use crate::placement::{Placement, Role};
use crate::process::Process;

/// Folder for sockets, removed on drop.
pub(crate) struct Folder {
    path: PathBuf,
    used: AtomicU32,
}

impl Folder {
    pub(crate) fn new() -> Result<Folder> {
        let path = std::env::temp_dir().join(format!("oxbench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder { path, used: AtomicU32::new(0) })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an endpoint with a new file name in place of `FILE`.
    pub(crate) fn endpoint(&self, of: &Protocol) -> String {
        of.endpoint.replace(FILE, &self.file())
    }

    /// Returns a new name for a socket.
    pub(crate) fn file(&self) -> String {
        let file = format!("s{}", self.used.fetch_add(1, Ordering::Relaxed));
        self.path.join(file).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Leftover files do no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Protocol that is available.
pub(super) struct Contender {
    pub(super) protocol: &'static Protocol,
    omniorb: Option<Cubits>,
    /// Program of a separate workspace, which acts as both sides.
    apart: Option<PathBuf>,
}

/// Processes of a protocol, connected and ready.
pub(super) struct Pair {
    pub(super) client: Process,
    /// Server process; `None` if the client is also the server.
    server: Option<Process>,
}

impl Contender {
    /// Builds the required programs, and makes one call.
    pub(super) fn prepare(
        protocol: &'static Protocol,
        placement: Placement,
        folder: &Folder,
    ) -> Result<Contender> {
        if let Placement::Pinned { client, server } = placement
            && client == server
            && protocol.spins()
        {
            return Err("spinning takes a CPU for each side: --cpus 0,1".into());
        }
        let omniorb = match protocol.maker {
            Maker::OmniOrb => Some(Cubits::build()?),
            _ => None,
        };
        let apart = match protocol.maker {
            Maker::Iceoryx => Some(apart::ICEORYX2.program()?),
            Maker::Zenoh => Some(apart::ZENOH_SHM.program()?),
            _ => None,
        };
        let contender = Contender { protocol, omniorb, apart };
        let mut pair = contender.start(placement, folder)?;
        let long = Cube { operation: Operation::Long, size: 4 };
        let sent = Cube { operation: Operation::Sent, size: 4 };
        let once = if protocol.makes(long) { long } else { sent };
        pair.call(once, 1)?;
        pair.finish()?;
        Ok(contender)
    }

    /// Starts its processes.
    pub(super) fn start(&self, placement: Placement, folder: &Folder) -> Result<Pair> {
        let endpoint = folder.endpoint(self.protocol);
        let name = |side| format!("the {side} of {}", self.protocol);
        if self.protocol.transport == Transport::Memory {
            let mut command = match self.protocol.maker {
                Maker::Memcpy => own_side("cubit-memcpy")?,
                _ => own_side("cubit-pair")?,
            };
            command.arg(&endpoint);
            let mut client = Process::start(name("pair"), placement, Role::Client, &mut command)?;
            client.expect("ready")?;
            let server = None;
            return Ok(Pair { client, server });
        }
        let mut command = self.server(&endpoint)?;
        self.certify(&mut command, folder)?;
        let mut server = Process::start(name("server"), placement, Role::Server, &mut command)?;
        let reference = server.hear()?;
        let mut command = self.client(&reference)?;
        self.certify(&mut command, folder)?;
        let mut client = Process::start(name("client"), placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        let server = Some(server);
        Ok(Pair { client, server })
    }

    /// Passes the certificates of this run to a side over TLS; they are made for the first one.
    #[cfg(feature = "tls")]
    fn certify(&self, command: &mut Command, folder: &Folder) -> Result {
        if self.protocol.transport != Transport::Tls {
            return Ok(());
        }
        let roots = folder.path().join("ca.pem");
        if !roots.exists() {
            let made = oxorb::tls::make(&oxorb::tls::WantedCertificates {
                hosts: vec!["127.0.0.1".to_owned()],
                clients: Vec::new(),
                days: 2,
            })?;
            for one in made {
                std::fs::write(folder.path().join(one.name), one.content)?;
            }
        }
        command.env("OXORB_TLSROOTS", roots);
        command.env("OXORB_TLSCERTIFICATE", folder.path().join("server.pem"));
        Ok(())
    }

    /// Rejects TLS, which this build lacks.
    #[cfg(not(feature = "tls"))]
    fn certify(&self, _: &mut Command, _: &Folder) -> Result {
        match self.protocol.transport {
            Transport::Tls => Err("oxbench was built without its feature `tls`".into()),
            _ => Ok(()),
        }
    }

    /// Returns the word for the kind of waiting in shared memory, for sides without an ORB.
    fn wait(&self) -> Option<&'static str> {
        match (self.protocol.transport, self.protocol.maker) {
            (_, Maker::Zenoh) => None,
            (Transport::Spinning, _) => Some("spin"),
            (Transport::Shared, Maker::Iceoryx) => Some("event"),
            (Transport::Shared, _) => Some("futex"),
            _ => None,
        }
    }

    /// Returns the word for the way of passing octets, for the raw exchange.
    fn way(&self) -> Option<&'static str> {
        match self.protocol.way {
            Way::Pieces => Some("pieces"),
            Way::Placed => Some("placed"),
            _ => None,
        }
    }

    fn untouched(&self) -> Option<&'static str> {
        (self.protocol.way == Way::Untouched).then_some("--untouched")
    }

    fn server(&self, endpoint: &str) -> Result<Command> {
        if let Some(program) = &self.apart {
            let mut command = Command::new(program);
            command.args(["server", endpoint]).args(self.wait());
            return Ok(command);
        }
        let side = match (&self.omniorb, self.protocol.maker) {
            (Some(programs), _) => return Ok(programs.server(endpoint)),
            (None, Maker::Raw) if self.wait().is_some() => {
                let mut command = own_side("cubit-ring-server")?;
                command.arg(endpoint).args(self.wait()).args(self.way());
                return Ok(command);
            }
            (None, Maker::Raw) => "cubit-raw-server",
            (None, _) if self.protocol.way != Way::Usual => "sink-server",
            (None, _) => "cubit-server",
        };
        let mut command = own_side(side)?;
        command.arg(endpoint).envs(self.protocol.environment());
        command.args(self.untouched());
        Ok(command)
    }

    fn client(&self, reference: &str) -> Result<Command> {
        if let Some(program) = &self.apart {
            let mut command = Command::new(program);
            command.args(["client", reference]).args(self.wait());
            command.args((self.protocol.way == Way::Placed).then_some("placed"));
            return Ok(command);
        }
        let side = match (&self.omniorb, self.protocol.maker) {
            (Some(programs), _) => return Ok(programs.client(reference)),
            (None, Maker::Raw) if self.wait().is_some() => {
                let mut command = own_side("cubit-ring-client")?;
                command.arg(reference).args(self.wait()).args(self.way());
                return Ok(command);
            }
            (None, Maker::Raw) => "cubit-raw-client",
            (None, _) if self.protocol.way != Way::Usual => "sink-client",
            (None, _) => "cubit-client",
        };
        let mut command = own_side(side)?;
        let environment = self.protocol.environment();
        command.arg(Path::new(reference)).envs(environment);
        let placed = matches!(self.protocol.way, Way::Placed | Way::Untouched);
        command.args(placed.then_some("--placed"));
        command.args(self.untouched());
        Ok(command)
    }
}

impl Pair {
    /// Makes the client perform `calls` calls.
    pub(super) fn call(&mut self, cube: Cube, calls: u32) -> Result {
        let Cube { operation, size } = cube;
        self.client.tell(&format!("run {operation} {size} {calls}"))?;
        self.client.expect("done")
    }

    /// Ends the processes, the client first.
    pub(super) fn finish(self) -> Result {
        self.client.finish()?;
        self.server.map_or(Ok(()), Process::finish)
    }
}
