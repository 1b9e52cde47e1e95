//! Access rules that are read again while a server runs, and rules that limit the requests of each client.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::incident::Incident;
use oxorb::settings::{AccessRules, ClientConnections, LogLevel};
use oxorb::{CompletionStatus, ObjectRef, Orb, SystemException, SystemExceptionKind, minor};
use oxorb_testkit::process::{rerun, test_name};
use oxorb_testkit::watchdog;

use crate::common::*;

/// Variable with the file of the server process.
const FILE: &str = "OXORB_TEST_ACCESS_RULES";

const ALLOWED: &str = "[access]\ndefault = \"allow\"\n";

/// Rules whose first rule is on line 5.
const DENIED: &str =
    "[access]\ndefault = \"allow\"\n\n[[access.rule]]\ndeny = \"all\"\noperation = \"ping\"\n";

/// Rules that admit one `ping` of each client in a second, by a rule on line 5.
const LIMITED: &str = "[access]
default = \"allow\"

[[access.rule]]
limit = \"all\"
requests = 1
operation = \"ping\"
";

/// File of access rules, which is removed when this value is dropped.
struct Rules(PathBuf);

impl Rules {
    fn new(name: &str, text: &str) -> Rules {
        let file = format!("oxorb-access-{name}-{}.toml", oxorb_testkit::unique());
        let rules = Rules(std::path::absolute(std::env::temp_dir().join(file)).unwrap());
        rules.write(text);
        rules
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.0, text).unwrap();
    }

    /// Returns the place of a line, as errors and the log have it.
    fn line(&self, number: u32) -> String {
        format!("{}:{number}", self.0.display())
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lines that an ORB has logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(LogLevel, String)>>>);

impl Lines {
    fn of(orb: &Orb) -> Lines {
        let lines = Lines::default();
        let seen = lines.clone();
        orb.log_to(move |level, line| seen.0.lock().unwrap().push((level, line.to_owned())));
        lines
    }

    #[track_caller]
    fn assert_has(&self, level: LogLevel, text: &str) {
        let lines = self.0.lock().unwrap();
        let has = lines.iter().any(|(at, line)| *at == level && line.contains(text));
        assert!(has, "{level} {text} in {lines:?}");
    }
}

fn server_with(rules: &Rules) -> Orb {
    let builder = transport::listening().access_rules_file(&rules.0);
    builder.setting("LogLevel", "info").build().unwrap()
}

#[track_caller]
fn assert_denied(answer: Result<i64, SystemException>) {
    let refused = answer.unwrap_err();
    assert_raised(refused, SystemExceptionKind::NoPermission, CompletionStatus::No);
    assert_eq!(refused.minor, minor::no_permission::ACCESS_RULES);
}

/// Calls until a call is refused, and returns that exception.
fn until_refused(object: &ObjectRef) -> SystemException {
    loop {
        if let Err(refused) = ping(object, 1) {
            return refused;
        }
    }
}

fn count(server: &Orb, incident: Incident) -> u64 {
    server.connection_statistics().count(incident)
}

#[test]
fn a_reload_takes_effect_on_connections_that_are_open() {
    only_over!(SOCKETS, "a process admits itself");
    let _guard = watchdog(LONG);
    let rules = Rules::new("open", ALLOWED);
    let server = server_with(&rules);
    let lines = Lines::of(&server);
    let client = client(ClientConnections::Private);
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    let accepted = server.connection_statistics().accepted;
    rules.write(DENIED);
    assert_eq!(ping(&object, 1), Ok(2), "before the reload");
    for denied in 1..=3 {
        rules.write(DENIED);
        server.reload_access_rules().unwrap();
        assert_denied(ping(&object, 1));
        assert_eq!(count(&server, Incident::RequestDenied), denied);
        rules.write(ALLOWED);
        server.reload_access_rules().unwrap();
        assert_eq!(ping(&object, 1), Ok(2));
    }
    assert_eq!(server.connection_statistics().accepted, accepted, "over one connection");
    lines.assert_has(LogLevel::Info, "1 access rules of ");
    lines.assert_has(LogLevel::Warn, &rules.line(5));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_file_with_a_mistake_changes_nothing() {
    only_over!(SOCKETS, "a process admits itself");
    let _guard = watchdog(LONG);
    let rules = Rules::new("mistake", DENIED);
    let server = server_with(&rules);
    let lines = Lines::of(&server);
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    assert_denied(ping(&object, 1));
    let before = server.access_rules();
    for (text, line, problem) in [
        ("[access]\ndefault = \"allow\"\n[[access.rule]]\nallow = \"here\"\n", 4, "\"here\""),
        ("[access]\ndefault = \"allow\"\nrules = 1\n", 3, "there is no entry `rules` here"),
        ("[orb]\nMaxHeld = 3\n", 1, "there is no entry `orb` here; expected one of access"),
        ("[access\n", 1, ""),
    ] {
        rules.write(text);
        let error = server.reload_access_rules().unwrap_err().to_string();
        let place = format!("{}: ", rules.line(line));
        assert!(error.starts_with(&place) && error.contains(problem), "{error}");
        lines.assert_has(LogLevel::Error, &error);
        assert_denied(ping(&object, 1));
    }
    rules.write("");
    let error = server.reload_access_rules().unwrap_err().to_string();
    assert!(error.ends_with(": has no table [access]"), "{error}");
    std::fs::remove_file(&rules.0).unwrap();
    let error = server.reload_access_rules().unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
    lines.assert_has(LogLevel::Error, "the previous access rules stay in use");
    assert_denied(ping(&object, 1));
    assert_eq!(server.access_rules(), before);
    rules.write(ALLOWED);
    server.reload_access_rules().unwrap();
    assert_eq!(ping(&object, 1), Ok(2));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Two reloads overlap: the first one has begun to read old rules, and the second one reads new rules.
#[test]
fn a_slow_reload_does_not_bring_older_rules_back() {
    let _guard = watchdog(LONG);
    let rules = Rules::new("slow", ALLOWED);
    let server = server_with(&rules);
    // The first reload reads a pipe until this test closes it.
    std::fs::remove_file(&rules.0).unwrap();
    assert!(Command::new("mkfifo").arg(&rules.0).status().unwrap().success());
    thread::scope(|scope| {
        let first = scope.spawn(|| server.reload_access_rules());
        // This waits until the first reload has opened the pipe, too.
        let mut pipe = OpenOptions::new().write(true).open(&rules.0).unwrap();
        pipe.write_all(ALLOWED.as_bytes()).unwrap();
        std::fs::remove_file(&rules.0).unwrap();
        rules.write(DENIED);
        let second = scope.spawn(|| server.reload_access_rules());
        // The second reload has time to end before the first one, if it does not wait for it.
        for _ in 0..20 {
            if !second.is_finished() {
                thread::sleep(Duration::from_millis(10));
            }
        }
        drop(pipe);
        first.join().unwrap().unwrap();
        second.join().unwrap().unwrap();
    });
    assert_eq!(server.access_rules().unwrap().rules.len(), 1, "the rules that were read last");
    server.shutdown(true).unwrap();
}

#[test]
fn a_file_with_a_mistake_is_an_error_of_the_start() {
    let rules = Rules::new("start", "[access]\n");
    let args = ["server", "-ORBAccessRules", &rules.0.display().to_string()].map(String::from);
    let error = transport::builder().args(args).build().unwrap_err().to_string();
    assert!(error.contains(&format!("{}: default is missing", rules.line(1))), "{error}");
}

#[test]
fn rules_of_a_configuration_file_are_not_read_again() {
    let rules = Rules::new("own", ALLOWED);
    let config = Rules::new("configuration", DENIED);
    let orb = transport::builder().access_rules_file(&rules.0).config_file(&config.0);
    let orb = orb.build().unwrap();
    assert_eq!(orb.access_rules().unwrap().rules.len(), 1, "those of the later file");
    let error = orb.reload_access_rules().unwrap_err().to_string();
    assert!(error.starts_with("-ORBAccessRules: does not name a file"), "{error}");
    orb.shutdown(true).unwrap();
}

#[test]
fn a_program_replaces_rules_without_a_file() {
    only_over!(SOCKETS, "a process admits itself");
    let _guard = watchdog(LONG);
    let of = |allow| {
        let place = "program:1".to_owned();
        Arc::new(AccessRules { place, allow, rules: Vec::new() })
    };
    let server = transport::listening()
        .configure(|options| options.access_rules = Some(of(true)))
        .build()
        .unwrap();
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2));
    assert!(server.replace_access_rules(&of(false)));
    assert_denied(ping(&object, 1));
    assert_eq!(server.access_rules(), Some(of(false)));
    assert!(!client.replace_access_rules(&of(false)), "this ORB was made without access rules");
    assert_eq!(client.access_rules(), None);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_limit_refuses_what_is_beyond_the_rate_and_nothing_else() {
    only_over!(SOCKETS, "a process admits itself");
    let _guard = watchdog(2 * LONG);
    let rules = Rules::new("limit", LIMITED);
    let server = server_with(&rules);
    let lines = Lines::of(&server);
    let client = client(ClientConnections::Cached);
    let object = pinger(&server, &client);
    assert_eq!(ping(&object, 1), Ok(2), "the burst");
    let refused = until_refused(&object);
    assert_raised(refused, SystemExceptionKind::Transient, CompletionStatus::No);
    assert_eq!(refused.minor, minor::transient::CLIENT_RATE);
    assert!(count(&server, Incident::RequestLimited) > 0);
    assert_eq!(count(&server, Incident::RequestDenied), 0);
    lines.assert_has(LogLevel::Warn, &format!("beyond the rate of the rule at {}", rules.line(5)));
    assert_eq!(call(&object, &WAIT), Ok(()), "an operation without a limit");
    until("the rate admits a request again", || ping(&object, 1).is_ok());
    // Each request of a flood is counted, but only few are logged.
    let written = || lines.0.lock().unwrap().len() as u64;
    let (before, counted) = (written(), count(&server, Incident::RequestLimited));
    for _ in 0..500 {
        let _ = ping(&object, 1);
    }
    let more = count(&server, Incident::RequestLimited) - counted;
    assert!(written() - before < more, "{} lines for {more} refusals", written() - before);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Runs the server process, which prints its reference and its log, and serves until its input ends.
#[test]
#[ignore = "played by the other test, in a process of its own"]
fn server_process() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let args = ["server", "-ORBAccessRules", &file].map(String::from);
    let server = transport::listening().args(args).setting("LogLevel", "info").build().unwrap();
    server.log_to(|_, line| println!("LOG {line}"));
    server.reload_security_on_signal().unwrap();
    let object = server.root_poa().activate_servant(Arc::new(Pinger::default())).unwrap();
    println!("SERVES {object}");
    let _ = std::io::stdin().read(&mut [0]);
    server.shutdown(true).unwrap();
}

#[test]
fn sighup_reads_the_file_again() {
    only_over!(SOCKETS, "the server is another process");
    let _guard = watchdog(LONG);
    let rules = Rules::new("signal", DENIED);
    let mut server = rerun(test_name(server_process))
        .env(FILE, &rules.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let reference = lines.find_map(|line| Some(line.split_once("SERVES ")?.1.to_owned())).unwrap();
    let client = client(ClientConnections::Cached);
    let object: ObjectRef = client.string_to_object(&reference).unwrap();
    assert_denied(ping(&object, 1));
    let hang_up = || {
        let sent = Command::new("kill").args(["-HUP", &server.id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    rules.write("[access]\n");
    hang_up();
    assert!(lines.any(|line| line.contains("LOG ") && line.contains("stay in use")));
    assert_denied(ping(&object, 1));
    rules.write(ALLOWED);
    hang_up();
    assert!(lines.any(|line| line.contains("LOG ") && line.contains("0 access rules of ")));
    assert_eq!(ping(&object, 1), Ok(2));
    client.shutdown(true).unwrap();
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success(), "the signal did not end the server");
}
