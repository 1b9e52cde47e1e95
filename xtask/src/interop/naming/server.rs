//! Name servers of the three ORBs.

use std::ffi::OsString;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::interop::build::Programs;
use crate::interop::orb::Orb;
use crate::interop::ports;
use crate::interop::process::Running;

const START: Duration = Duration::from_secs(30);

/// Name server that runs until dropped.
pub(super) struct Server {
    pub(super) orb: Orb,
    pub(super) url: String,
    _running: Running,
}

impl Server {
    pub(super) fn start(orb: Orb, programs: &Programs, work: &Path) -> Result<Self, String> {
        let folder = work.join(format!("{}-names", orb.name()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let port = ports::reserve(1)?;
        let path = |name: &str| folder.join(name).into_os_string();
        let (program, args): (OsString, Vec<OsString>) = match orb {
            Orb::Ox => (
                programs.oxorb.join("oxorb").into(),
                vec![
                    "name".into(),
                    "serve".into(),
                    "--store".into(),
                    path("names.redb"),
                    "--listen".into(),
                    format!("iiop://127.0.0.1:{port}").into(),
                    "--federate".into(),
                    "any".into(),
                ],
            ),
            Orb::Omni => (
                "omniNames".into(),
                vec![
                    "-start".into(),
                    port.to_string().into(),
                    "-logdir".into(),
                    folder.clone().into(),
                    "-errlog".into(),
                    path("errors"),
                ],
            ),
            Orb::Jac => (
                "java".into(),
                vec![
                    "-cp".into(),
                    programs.java_class_path.clone(),
                    "-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB".into(),
                    "-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton".into(),
                    format!("-DOAAddress=iiop://127.0.0.1:{port}").into(),
                    format!("-Djacorb.naming.db_dir={}", folder.display()).into(),
                    "org.jacorb.naming.NameServer".into(),
                ],
            ),
        };
        let log = work.join(format!("{}-server", orb.name()));
        let mut running = Running::start(&program, &args, &log)?;
        running
            .wait_until(START, |_| TcpStream::connect(("127.0.0.1", port)).is_ok())
            .map_err(|why| format!("{}'s name server: {why}", orb.name()))?;
        Ok(Self { orb, url: format!("corbaloc::127.0.0.1:{port}/NameService"), _running: running })
    }
}
