//! `cargo xtask path`: source files that a reader opens to follow one request from the stub to the servant and back.
//!
//! A debug build of oxbench makes warm pings over TCP, on private connections, to a server with a thread for each
//! connection. Callgrind counts the instructions of few and of many pings, so the difference shows what each ping
//! executes. The program's debug information assigns an instruction to its line, and to the lines of the functions into
//! which the compiler inlined it.

mod profile;
mod source;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use profile::{Frame, Profile, frames};
use source::{Function, Sources};

const USAGE: &str = "Usage: cargo xtask path [--list] [--program FILE]\n\n  \
    Counts the source files that a reader opens to follow one request, with valgrind and llvm-symbolizer, and fails\n  \
    if they are more than ARCHITECTURE.md promises. Builds oxbench without optimization.\n\n  \
    --list     print the files, with the functions for which each is opened\n  \
    --program  oxbench as built before from these sources without optimization; nothing is built";

/// Maximum number of files that are opened for one request, on both sides together.
const MOST: usize = 40;

/// Number of executed lines up to which a function counts as so short that its name describes it. The first and the
/// last line of a function count as executed.
const SHORT: usize = 5;

/// Numbers of pings of the two runs.
const FEW: u64 = 100;
const MANY: u64 = 500;

/// Settings of both sides: connections are not checked between pings, which take long under valgrind.
const BOTH: &[(&str, &str)] = &[("OXORB_TRUSTIDLE", "60000")];

/// Paths of a call on the client's side, and the settings of the client that select them. A fragment size rules the
/// fast path out; no ping is that long.
const PATHS: [(&str, &[(&str, &str)]); 2] =
    [("fast path", &[]), ("general path", &[("OXORB_FRAGMENTSIZE", "1000000")])];

/// Counts, prints, and compares with the maximum.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let (mut list, mut program) = (false, None);
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match arg {
            "--list" => list = true,
            "--program" => program = Some(PathBuf::from(args.next().ok_or(USAGE)?)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let workspace = crate::workspace::folder();
    let program = match program {
        Some(program) => program,
        None => build(&workspace)?,
    };
    let mut longest = 0;
    for (name, settings) in PATHS {
        let [client, server] = sides(&workspace, &program, settings)?;
        let all = client.both(&server);
        println!("{name}: client {client}; server {server}; both {all}");
        if list {
            print!("{}", listed(&client, &server));
        }
        longest = longest.max(all.opened.len());
    }
    match longest > MOST {
        true => Err(format!("one request opens {longest} files, and may open {MOST}")),
        false => Ok(()),
    }
}

/// Builds oxbench without optimization; returns its path.
fn build(workspace: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments = ["build", "--locked", "--quiet", "--package", "oxbench"];
    let mut build = Command::new(cargo);
    build.current_dir(workspace).args(arguments).env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
    let status = build.status();
    let status = status.map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("cargo could not build oxbench".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.join("target"), PathBuf::from);
    Ok(target.join("debug/oxbench"))
}

/// Returns what a ping executes in the client and in the server.
fn sides(workspace: &Path, program: &Path, settings: &[(&str, &str)]) -> Result<[Side; 2], String> {
    let few = pings(program, settings, FEW)?;
    let many = pings(program, settings, MANY)?;
    let mut sides = Vec::new();
    for (few, many) in few.iter().zip(&many) {
        let ping = many.beyond(few, MANY - FEW);
        let frames = frames(program, &ping.addresses())?;
        sides.push(Side::of(&ping, &frames, &mut Sources::of(workspace))?);
    }
    sides.try_into().map_err(|_| "two sides were measured".to_owned())
}

/// Runs a server and a client that makes `calls` pings, both under callgrind; returns their profiles.
fn pings(program: &Path, settings: &[(&str, &str)], calls: u64) -> Result<[Profile; 2], String> {
    let log = |side: &str| {
        let file = format!("oxorb-path-{}-{side}-{calls}", std::process::id());
        std::env::temp_dir().join(file)
    };
    let logs = [log("client"), log("server")];
    let mut server = Peer::start(program, &logs[1], &["oxorb-server"], &[])?;
    let reference = server.hear()?;
    let mut client = Peer::start(program, &logs[0], &["oxorb-client", &reference], settings)?;
    client.hear()?;
    client.tell(&format!("run ping 0 {calls}"))?;
    client.hear()?;
    client.finish()?;
    server.finish()?;
    let read = |log: &Path| -> Result<Profile, String> {
        let text = std::fs::read_to_string(log)
            .map_err(|error| format!("callgrind wrote no {}: {error}", log.display()))?;
        let _ = std::fs::remove_file(log);
        Ok(Profile::parse(&text, program))
    };
    Ok([read(&logs[0])?, read(&logs[1])?])
}

/// Client or server under callgrind; killed if it is dropped before its end.
struct Peer {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn start(
        program: &Path,
        log: &Path,
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Result<Peer, String> {
        let mut command = Command::new("valgrind");
        command
            .args(["-q", "--tool=callgrind", "--dump-instr=yes"])
            .args(["--compress-pos=no", "--compress-strings=no"])
            .arg(format!("--callgrind-out-file={}", log.display()))
            .arg(program)
            .arg("peer")
            .args(arguments)
            .envs(BOTH.iter().chain(settings).copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process =
            command.spawn().map_err(|error| format!("cannot run valgrind: {error}"))?;
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        Ok(Peer { process, output })
    }

    fn tell(&mut self, line: &str) -> Result<(), String> {
        let input = self.process.stdin.as_mut().expect("it is piped");
        writeln!(input, "{line}").map_err(|error| format!("cannot write to oxbench: {error}"))
    }

    fn hear(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.output.read_line(&mut line) {
            Ok(0) => Err("oxbench ended under valgrind before its answer".to_owned()),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(format!("cannot read from oxbench: {error}")),
        }
    }

    /// Closes the standard input, at which the process ends, and waits for the end.
    fn finish(mut self) -> Result<(), String> {
        drop(self.process.stdin.take());
        match self.process.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("oxbench under valgrind: {status}")),
            Err(error) => Err(format!("cannot wait for oxbench: {error}")),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a request executes on one side, or on both.
#[derive(Default, Debug)]
struct Side {
    /// Files that a reader opens, each with the functions for which it is opened.
    opened: BTreeMap<String, BTreeSet<String>>,
    /// Files with any executed line.
    executed: BTreeSet<String>,
    /// Executed functions.
    functions: BTreeSet<Function>,
}

/// Function of the workspace, or of a library, by the name of its symbol.
#[derive(PartialEq, Eq, Hash, Clone)]
enum Node {
    Own(Function),
    Library(String),
}

impl Side {
    /// Counts a file as opened if a function in it has more than [`SHORT`] executed lines, or calls such a function,
    /// itself or through functions of a library.
    fn of(
        ping: &Profile,
        frames: &HashMap<u64, Vec<Frame>>,
        sources: &mut Sources,
    ) -> Result<Side, String> {
        let mut lines: HashMap<Function, BTreeSet<u32>> = HashMap::new();
        let mut callees: HashMap<Node, Vec<Node>> = HashMap::new();
        let node = |frame: &Frame, sources: &mut Sources| -> Result<Node, String> {
            Ok(match sources.function(&frame.file, frame.line, &frame.symbol)? {
                Some(function) => Node::Own(function),
                None => Node::Library(frame.symbol.clone()),
            })
        };
        for address in ping.executed() {
            let mut inner: Option<Node> = None;
            for frame in &frames[&address] {
                let node = node(frame, sources)?;
                if let Node::Own(function) = &node {
                    let lines = lines.entry(function.clone()).or_default();
                    lines.extend([function.first, function.last, frame.line]);
                }
                if let Some(inner) = inner.take() {
                    callees.entry(node.clone()).or_default().push(inner);
                }
                inner = Some(node);
            }
        }
        for (from, to) in ping.calls() {
            if let (Some(from), Some(to)) = (frames[&from].first(), frames[&to].last()) {
                let (from, to) = (node(from, sources)?, node(to, sources)?);
                callees.entry(from).or_default().push(to);
            }
        }
        let is_long = |function: &Function| lines.get(function).is_some_and(|it| it.len() > SHORT);
        let mut side = Side::default();
        for function in lines.keys() {
            side.executed.insert(function.file.clone());
            side.functions.insert(function.clone());
            if is_long(function) || called(function, &callees).any(is_long) {
                let names = side.opened.entry(function.file.clone()).or_default();
                names.insert(function.name.clone());
            }
        }
        Ok(side)
    }

    /// Returns what is executed on either of two sides.
    fn both(&self, other: &Side) -> Side {
        let mut both = Side::default();
        for side in [self, other] {
            for (file, names) in &side.opened {
                both.opened.entry(file.clone()).or_default().extend(names.iter().cloned());
            }
            both.executed.extend(side.executed.iter().cloned());
            both.functions.extend(side.functions.iter().cloned());
        }
        both
    }
}

/// Returns the other functions of the workspace that a function calls, itself or through functions of a library.
fn called<'c>(
    function: &Function,
    callees: &'c HashMap<Node, Vec<Node>>,
) -> impl Iterator<Item = &'c Function> {
    let start = Node::Own(function.clone());
    let mut seen = HashSet::new();
    let mut open: Vec<&Node> = callees.get(&start).into_iter().flatten().collect();
    let mut found = Vec::new();
    while let Some(node) = open.pop() {
        if *node == start || !seen.insert(node) {
            continue;
        }
        match node {
            Node::Own(function) => found.push(function),
            Node::Library(_) => open.extend(callees.get(node).into_iter().flatten()),
        }
    }
    found.into_iter()
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Side { opened, executed, functions } = self;
        let (opened, executed, functions) = (opened.len(), executed.len(), functions.len());
        write!(f, "{opened} files opened, {executed} with executed lines, {functions} functions")
    }
}

/// Returns the opened files, one a line, with the side that opens each and the functions for which it is opened.
fn listed(client: &Side, server: &Side) -> String {
    let mut text = String::new();
    for (file, names) in &client.both(server).opened {
        let side = match (client.opened.contains_key(file), server.opened.contains_key(file)) {
            (true, true) => "both",
            (true, false) => "client",
            _ => "server",
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let _ = writeln!(text, "  {side:6} {file}: {}", names.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, line: u32, symbol: &str) -> Frame {
        Frame { file: file.to_owned(), line, symbol: symbol.to_owned() }
    }

    /// A long function that calls, through a function of the standard library, a long and a short one; and a short one
    /// that the compiler inlined.
    #[test]
    fn files_of_long_functions_and_of_their_callers_are_opened() {
        let folder = std::env::temp_dir().join(format!("oxorb-path-test-{}", std::process::id()));
        let source = folder.join("crates/a/src");
        std::fs::create_dir_all(&source).unwrap();
        let body = |lines: usize| "    x();\n".repeat(lines);
        let write = |file: &str, name: &str, lines| {
            std::fs::write(source.join(file), format!("fn {name}() {{\n{}}}\n", body(lines)))
        };
        write("long.rs", "long", 8).unwrap();
        write("caller.rs", "caller", 1).unwrap();
        write("short.rs", "short", 2).unwrap();
        let at = |file: &str| source.join(file).display().to_string();
        let mut frames = HashMap::new();
        for line in 2..=9 {
            frames.insert(u64::from(line), vec![frame(&at("long.rs"), line, "long")]);
        }
        frames.insert(20, vec![frame(&at("caller.rs"), 2, "caller")]);
        frames.insert(30, vec![frame("/rustc/core/ops.rs", 7, "call_once")]);
        let inlined = [frame(&at("short.rs"), 2, "short"), frame(&at("long.rs"), 3, "long")];
        frames.insert(40, inlined.to_vec());
        let log = "ob=/bin/p\n0x2 1 1\n0x3 1 1\n0x4 1 1\n0x5 1 1\n0x6 1 1\n0x7 1 1\n0x8 1 1\n0x9 1 1\n0x14 1 1\n\
                   calls=1 0x1e 1\n0x14 1 9\ncalls=1 0x2 1\n0x1e 1 9\n0x1e 1 1\n0x28 1 1\n";
        let ping = Profile::parse(log, Path::new("/target/p"));
        let side = Side::of(&ping, &frames, &mut Sources::of(&folder)).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let opened: Vec<&str> = side.opened.keys().map(String::as_str).collect();
        assert_eq!(opened, ["crates/a/src/caller.rs", "crates/a/src/long.rs"]);
        assert_eq!((side.executed.len(), side.functions.len()), (3, 3));
        let both = side.both(&Side::default());
        assert_eq!(both.opened.len(), 2);
        assert!(
            listed(&side, &Side::default())
                .starts_with("  client crates/a/src/caller.rs: caller\n")
        );
    }
}
