//! The three ORBs, and the command lines of their programs.

use std::ffi::OsString;
use std::path::Path;

use super::build::{EMULATOR, Programs};
use super::matrix::{Cell, Column};

/// ORB in the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Orb {
    Ox,
    Omni,
    Jac,
}

/// Unreachable host in the references of a client.
const NOWHERE: &str = "behind-nat.invalid";

/// Number of lanes of an OxORB program in the column "lanes".
const LANES: u16 = 2;

/// Ports of one program: its listening port, followed by those of its lanes.
pub(super) const PORTS: u16 = 1 + LANES;

/// Side of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Server,
    Client,
}

impl Orb {
    pub(super) const ALL: [Self; 3] = [Self::Ox, Self::Omni, Self::Jac];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ox => "OxORB",
            Self::Omni => "omniORB",
            Self::Jac => "JacORB",
        }
    }

    pub(super) fn named(name: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|orb| orb.name().eq_ignore_ascii_case(name));
        known.ok_or_else(|| format!("no ORB called {name}: oxorb, omniorb and jacorb take part"))
    }

    /// Returns program and arguments of one side of a pair; both listen on `port`, the server for calls, the client for
    /// callbacks.
    pub(super) fn command(
        self,
        programs: &Programs,
        side: Side,
        cell: &Cell,
        port: u16,
    ) -> (OsString, Vec<OsString>) {
        let minor = cell.column.giop_minor();
        let utf8 = cell.column == Column::Utf8;
        let hidden = cell.column == Column::Bidirectional && side == Side::Client;
        match self {
            Self::Ox => {
                let publish =
                    if hidden { format!("/hostname_in_ior={NOWHERE}") } else { String::new() };
                let beside = match cell.column {
                    Column::Unix => format!("/deny=all;uiop://{}", socket(port)),
                    _ => String::new(),
                };
                let protocol = match cell.column {
                    Column::Tls => "iiops",
                    _ => "iiop",
                };
                let mut args = strings([
                    format!("-ORBListenEndpoints {protocol}://127.0.0.1:{port}{publish}{beside}"),
                    format!("-ORBMaxGIOPVersion 1.{minor}"),
                    "-ORBRoundTripTimeout 10000".to_owned(),
                ]);
                match cell.column {
                    Column::Latin1 => {
                        args.extend(strings(["-ORBNativeCharCodeSet ISO-8859-1".to_owned()]))
                    }
                    Column::BigEndian => args.extend(strings(["-ORBByteOrder big".to_owned()])),
                    Column::Fragments => args.extend(strings(["-ORBFragmentSize 1024".to_owned()])),
                    Column::Strategies => args.extend(strings([
                        "-ORBClientConnections private".to_owned(),
                        // Nested callbacks need a thread for each level.
                        "-ORBConcurrency leader-followers:12".to_owned(),
                        // The calls of this program carry priorities and RIOP, which peers need not support.
                        "--realtime".to_owned(),
                    ])),
                    Column::Lanes => {
                        let first = port + 1;
                        args.extend(strings([
                            format!(
                                "-ORBLaneListenEndpoints *:*=iiop://127.0.0.1:{first}/portspan={LANES}"
                            ),
                            "--lanes".to_owned(),
                        ]));
                    }
                    Column::Bidirectional => args.extend(strings(match side {
                        Side::Client => ["-ORBOfferBiDirectionalGIOP 1".to_owned()],
                        Side::Server => ["-ORBAcceptBiDirectionalGIOP 1".to_owned()],
                    })),
                    Column::Tls => {
                        let certificates = &programs.certificates;
                        args.extend(strings([
                            "-ORBSecureOnly yes".to_owned(),
                            "-ORBTlsClients required".to_owned(),
                        ]));
                        args.extend(["-ORBTlsRoots".into(), certificates.join("ca.pem").into()]);
                        args.push("-ORBTlsCertificate".into());
                        args.push(certificates.join("server.pem").into());
                    }
                    _ => {}
                }
                if cell.column == Column::S390x {
                    let [emulator, before @ ..] = EMULATOR.map(OsString::from);
                    let mut line = Vec::from(before);
                    line.push(program(&programs.foreign, side));
                    line.append(&mut args);
                    return (emulator, line);
                }
                (program(&programs.oxorb, side), args)
            }
            Self::Omni => {
                let scheme = match cell.column {
                    Column::Tls => "ssl",
                    _ => "tcp",
                };
                let mut args = strings([
                    format!("-ORBendPoint giop:{scheme}:127.0.0.1:{port}"),
                    format!("-ORBmaxGIOPVersion 1.{minor}"),
                    // The default of 2 MB is less than the large checks send.
                    "-ORBgiopMaxMsgSize 33554432".to_owned(),
                    format!("-ORBnativeCharCodeSet {}", if utf8 { "UTF-8" } else { "ISO-8859-1" }),
                ]);
                // Addressing of objects in requests: by key, profile or whole reference.
                let mode = match cell.column {
                    Column::Fragments => 1,
                    Column::Strategies => 2,
                    _ => 0,
                };
                args.extend(strings([format!("-ORBgiopTargetAddressMode {mode}")]));
                if side == Side::Server && cell.column == Column::Giop12 {
                    // Closes connections that have been idle for two seconds.
                    args.extend(strings([
                        "-ORBscanGranularity 1".to_owned(),
                        "-ORBinConScanPeriod 2".to_owned(),
                    ]));
                }
                if cell.column == Column::Tls {
                    let certificates = &programs.certificates;
                    args.extend(["-ORBsslCAFile".into(), certificates.join("ca.pem").into()]);
                    args.extend(["-ORBsslKeyFile".into(), certificates.join("server.pem").into()]);
                    // omniORB requires a password, although the key is not encrypted.
                    args.extend(strings(["-ORBsslKeyPassword none".to_owned()]));
                    for rule in ["-ORBclientTransportRule", "-ORBserverTransportRule"] {
                        args.extend([rule, "* ssl"].map(OsString::from));
                    }
                }
                if cell.column == Column::Unix {
                    args.extend([
                        "-ORBendPoint".into(),
                        format!("giop:unix:{}", socket(port)).into(),
                    ]);
                    for rule in ["-ORBclientTransportRule", "-ORBserverTransportRule"] {
                        args.extend([rule, "* unix"].map(OsString::from));
                    }
                }
                if cell.column == Column::Bidirectional {
                    let (may, rule) = match side {
                        Side::Client => ("-ORBofferBiDirectionalGIOP", "-ORBclientTransportRule"),
                        Side::Server => ("-ORBacceptBiDirectionalGIOP", "-ORBserverTransportRule"),
                    };
                    args.extend([may, "1", rule, "* unix,tcp,bidir"].map(OsString::from));
                    if hidden {
                        let published = format!("giop:tcp:{NOWHERE}:{port}");
                        args.extend(["-ORBendPointPublish".into(), published.into()]);
                    }
                    args.push("--bidirectional".into());
                }
                if side == Side::Client
                    && [Column::Strategies, Column::Lanes].contains(&cell.column)
                {
                    // All threads share one connection, as always in JacORB.
                    args.extend(strings([
                        "-ORBoneCallPerConnection 0".to_owned(),
                        "-ORBmaxGIOPConnectionPerServer 1".to_owned(),
                    ]));
                }
                if utf8 {
                    args.push("--utf8".into());
                }
                (program(&programs.omniorb, side), args)
            }
            Self::Jac => {
                let charset = if utf8 { "UTF8" } else { "ISO8859_1" };
                let mut args: Vec<OsString> = vec!["-cp".into(), programs.java_class_path.clone()];
                args.extend([
                    "-XX:TieredStopAtLevel=1".into(),
                    "-Dfile.encoding=UTF-8".into(),
                    "-Djavax.rmi.CORBA.UtilClass=peers.RmiUtil".into(),
                    format!(
                        "-DOAAddress=iiop://127.0.0.1:{}",
                        if cell.column == Column::Tls { 0 } else { port }
                    )
                    .into(),
                    format!("-Djacorb.giop_minor_version={minor}").into(),
                    format!("-Djacorb.native_char_codeset={charset}").into(),
                ]);
                if cell.column == Column::Tls {
                    args.extend(jacorb_tls(&programs.certificates, port));
                }
                if cell.column == Column::Strategies {
                    args.push("-Djacorb.use_bom=on".into());
                }
                if cell.column == Column::Bidirectional {
                    // JacORB's client does not hide its address. Its offer of bidirectional GIOP names the listening
                    // address, whatever its references contain, so no server could match the two.
                    args.push("-Dinterop.bidirectional=yes".into());
                }
                args.push(match side {
                    Side::Server => "peers.Server".into(),
                    Side::Client => "peers.Client".into(),
                });
                ("java".into(), args)
            }
        }
    }
}

/// Returns properties of JacORB for TLS, with certificates on both sides and no plain port. Options are hexadecimal: 20
/// requires trust in the target, 60 also trust in the client.
fn jacorb_tls(certificates: &Path, port: u16) -> Vec<OsString> {
    let factories = "org.jacorb.security.ssl.sun_jsse.SSL";
    let mut all: Vec<OsString> = [
        "-Djacorb.security.support_ssl=on".to_owned(),
        format!("-Djacorb.ssl.socket_factory={factories}SocketFactory"),
        format!("-Djacorb.ssl.server_socket_factory={factories}ServerSocketFactory"),
        "-Djacorb.security.keystore_password=changeit".to_owned(),
        "-Djacorb.security.jsse.trustees_from_ks=on".to_owned(),
        "-Djacorb.security.ssl.server.supported_options=60".to_owned(),
        "-Djacorb.security.ssl.server.required_options=60".to_owned(),
        "-Djacorb.security.ssl.client.supported_options=60".to_owned(),
        "-Djacorb.security.ssl.client.required_options=20".to_owned(),
        "-Djacorb.security.ssl.corbaloc_ssliop.supported_options=60".to_owned(),
        format!("-DOASSLPort={port}"),
        "-DOAIAddr=127.0.0.1".to_owned(),
    ]
    .map(OsString::from)
    .into();
    let mut keys = OsString::from("-Djacorb.security.keystore=");
    keys.push(certificates.join("server.jks"));
    all.push(keys);
    all
}

/// Returns the UNIX socket of the program with this port.
fn socket(port: u16) -> String {
    format!("{}/oxorb-interop-{port}", std::env::temp_dir().display())
}

fn program(directory: &Path, side: Side) -> OsString {
    directory.join(if side == Side::Server { "interop-server" } else { "interop-client" }).into()
}

/// Splits "-name value" pairs into separate arguments.
fn strings<const N: usize>(pairs: [String; N]) -> Vec<OsString> {
    pairs.iter().flat_map(|pair| pair.split(' ')).map(OsString::from).collect()
}
