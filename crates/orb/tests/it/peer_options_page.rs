//! docs/peer-options.md matches the tables of other ORBs' options. `BLESS=1` regenerates the page.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it compares a page of the documentation.

use std::fmt::Write as _;

use oxorb::settings::PeerOptionMeaning;
use oxorb_testkit::page::assert_up_to_date;

#[test]
fn the_page_is_up_to_date() {
    let test = "cargo test -p oxorb --test it peer_options_page::";
    assert_up_to_date("docs/peer-options.md", &render(), test);
}

fn render() -> String {
    let mut page = String::from(HEAD);
    for (orb, options) in oxorb::settings::PEER_OPTIONS {
        writeln!(page, "\n## {orb}\n\n| option | here | |\n|---|---|---|").unwrap();
        for option in options {
            let (here, note) = match option.meaning {
                PeerOptionMeaning::Setting { name, note, .. } => (format!("`-ORB{name}`"), note),
                PeerOptionMeaning::Checked { note, .. } => ("as it is here".to_owned(), note),
                PeerOptionMeaning::Ignored(reason) => ("ignored".to_owned(), reason),
                PeerOptionMeaning::Refused(reason) => ("refused".to_owned(), reason),
                PeerOptionMeaning::ServiceFile => {
                    ("read".to_owned(), "the table of svc.conf below")
                }
                PeerOptionMeaning::ServiceDirective => ("read".to_owned(), "as a line of svc.conf"),
                _ => unreachable!("a meaning that the page does not know"),
            };
            let name = option.name;
            writeln!(page, "| `-ORB{name}` | {here} | {} |", note.replace('|', "\\|")).unwrap();
        }
    }
    page.push_str(JACORB);
    page
}

const HEAD: &str = "# Options of other ORBs

<!-- Written by crates/orb/tests/it/peer_options_page.rs from the tables in crates/core/src/options/peers. -->

OxORB accepts the command lines of programs of TAO and omniORB. Each option has one of these meanings:

- It is *mapped*: the table names the setting of OxORB.
- It is accepted *as it is here*, if OxORB always behaves as the value demands.
- It is *ignored*, with a line in the log, if OxORB has nothing to configure there.
- It is *refused*, with a message that names the alternative, if the program would otherwise not work as intended. A
  refused option with the value `0` is accepted.

An option that is neither in the tables nor a [setting](config.md) is an error, so that a typing mistake cannot go
unnoticed.

`-ORBPersonality tao` sets the defaults of TAO. `-ORBConfigFile omniORB.cfg` (any name that ends in `.cfg`) reads a
file of omniORB. `-ORBSvcConf FILE` reads a `svc.conf` of TAO in its classic form: it accepts the options of the
factories below, ignores other components with a line in the log, and refuses SSLIOP and multicast. OxORB reads a
`svc.conf` only if an option names it. The form of Java's ORBs, `-ORBInitRef.NAME=URL`, is also accepted.
";

const JACORB: &str = "
## JacORB, orb.properties

OxORB does not read files of JacORB's properties. These settings of OxORB correspond to the properties:

| property | here | |
|---|---|---|
| `ORBInitRef.NAME` | `-ORBInitRef` | also as `-ORBInitRef.NAME=URL` |
| `OAPort`, `OAIAddr` | `-ORBListenEndpoints` | `iiop://ADDRESS:PORT` |
| `OASSLPort` | `ListenEndpoints iiops://HOST:PORT` | [TLS](security.md) |
| `jacorb.ior_proxy_host`, `jacorb.ior_proxy_port` | `-ORBEndPointPublish` | `HOST:PORT` |
| `jacorb.implname` | - | keys of persistent objects contain no server name |
| `jacorb.use_imr` | - | there is no Implementation Repository |
| `jacorb.connection.client.connect_timeout` | `-ORBConnectTimeout` | milliseconds in both |
| `jacorb.connection.client.pending_reply_timeout` | `-ORBRoundTripTimeout` | milliseconds in both |
| `jacorb.connection.client.idle_timeout` | `-ORBClientIdleTimeout` | milliseconds in both |
| `jacorb.connection.server.timeout` | `-ORBIdleTimeout` | milliseconds in both |
| `jacorb.connection.max_server_connections` | `-ORBMaxConnections` | |
| `jacorb.connection.server.keepalive`, `jacorb.connection.client.keepalive` | `-ORBKeepAlive` | the value is a time |
| `jacorb.connection.client.disconnect_after_systemexception` | - | exceptions do not close a connection |
| `jacorb.retries`, `jacorb.retry_interval` | the policy `Retry` | docs/policies.md |
| `jacorb.maxManagedBufSize`, `jacorb.bufferManagerMaxFlush` | `-ORBKeptCapacity` | the value is a number of octets |
| `jacorb.giop_minor_version` | `-ORBMaxGIOPVersion` | `1.N` |
| `jacorb.native_char_codeset` | `-ORBNativeCharCodeSet` | |
| `jacorb.native_wchar_codeset` | - | wide text is sent as UTF-16 |
| `jacorb.poa.thread_pool_max`, `jacorb.poa.thread_pool_min` | `-ORBConcurrency` | or a threadpool for a POA |
| `jacorb.poa.queue_max` | `-ORBMaxHeld`, `buffering` of a threadpool | |
| `jacorb.log.default.verbosity` | `-ORBLogLevel` | 0 and 1 error, 2 warn, 3 info, 4 debug |
| `jacorb.logfile` | `-ORBLogFile` | |
| `jacorb.dns.enable` | `-ORBEndPointPublish hostname` | |
| `jacorb.security.*` | `TlsCertificate`, `TlsRoots`, `TlsClients` | [PEM files, no key stores](security.md); no SAS |
";
