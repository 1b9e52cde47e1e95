//! `oxorb cert`: test certificates for TLS.

use std::path::PathBuf;
use std::time::Duration;

use oxorb_terminal::duration::{self, DAY};
use oxorb_terminal::output::Done;

/// Commands of `oxorb cert`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Make a certificate authority, and certificates for a server and its clients
    New(New),
}

/// Arguments of `oxorb cert new`.
#[derive(clap::Args)]
#[command(
    after_help = "Writes ca.pem and ca.key (the authority), server.pem, and NAME.pem for each client: certificate and \
    key in one file. Nothing is overwritten. Keep ca.key away from servers, or remove it: whoever has it can create \
    certificates that these servers and clients trust.\n\nExamples:\n  oxorb cert new\n  \
    oxorb cert new --dir certs --host bank.example --host 10.0.0.7 --client alice --client bob"
)]
pub(crate) struct New {
    /// Directory for the files; created if missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Name or address by which clients reach the server; may be repeated
    #[arg(long = "host", value_name = "HOST", default_values = ["localhost", "127.0.0.1", "::1"])]
    hosts: Vec<String>,
    /// Name of a client; may be repeated
    #[arg(long = "client", value_name = "NAME", default_values = ["client"])]
    clients: Vec<String>,
    /// Time for which the certificates are valid, in whole days. For example 30d; a bare number is days
    #[arg(long, alias = "days", value_name = duration::VALUE_NAME, default_value = "90d", value_parser = duration::days().at_least(DAY).at_most(DAY.saturating_mul(3650)).in_steps_of(DAY))]
    lifetime: Duration,
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Done {
    let Command::New(wanted) = command;
    new(&wanted)
}

#[cfg(not(feature = "tls"))]
fn new(_: &New) -> Done {
    Err(oxorb_terminal::output::because(crate::without_tls::WITHOUT_TLS))
}

#[cfg(feature = "tls")]
fn new(wanted: &New) -> Done {
    use std::fmt::Write as _;
    use std::fs::{DirBuilder, OpenOptions};
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    use oxorb_terminal::output::{because, print};

    let New { dir, hosts, clients, lifetime } = wanted;
    let made = oxorb::tls::make(&oxorb::tls::WantedCertificates {
        hosts: hosts.clone(),
        clients: clients.clone(),
        days: (lifetime.as_secs() / DAY.as_secs()) as u32,
    });
    let made = made.map_err(because)?;
    let shown = |path: &PathBuf| path.display().to_string();
    let failed =
        |path: &PathBuf, error: std::io::Error| because(format!("{}: {error}", shown(path)));
    DirBuilder::new().recursive(true).create(dir).map_err(|error| failed(dir, error))?;
    // Check all files before writing any: a remaining old certificate would not be trusted by the new ones.
    for one in &made {
        let path = dir.join(&one.name);
        if path.symlink_metadata().is_ok() {
            let why = "already exists: remove it, or choose another --dir";
            return Err(because(format!("{} {why}", shown(&path))));
        }
    }
    let mut text = String::new();
    for one in &made {
        let path = dir.join(&one.name);
        let mode = if one.secret { 0o600 } else { 0o644 };
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
        let written = file.and_then(|mut file| file.write_all(one.content.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
        let _ = writeln!(text, "{}", shown(&path));
    }
    let at = |name: &str| shown(&dir.join(name));
    let client = clients.first().map_or("client", String::as_str);
    let _ = write!(
        text,
        "\nserver: -ORBListenEndpoints iiops://:2810 -ORBTlsCertificate {} -ORBTlsRoots {}\n\
         client: -ORBTlsRoots {} -ORBTlsCertificate {}\n",
        at("server.pem"),
        at("ca.pem"),
        at("ca.pem"),
        at(&format!("{client}.pem")),
    );
    print(text)
}
