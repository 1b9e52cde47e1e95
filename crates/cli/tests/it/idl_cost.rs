//! The cost of `oxorb idl` grows at most linearly with its input, and is bounded by limits. The tests count
//! instructions, not time.

use std::fmt::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use oxorb_testkit::peers::missing;

use crate::common::{Folder, text};

/// Returns IDL with every construct that may occur many times, `n` times.
fn many(n: usize) -> String {
    let list = |one: &dyn Fn(usize) -> String, glue: &str| {
        let all: Vec<String> = (0..n).map(one).collect();
        all.join(glue)
    };
    let mut idl = String::new();
    let mut add = |text: String| writeln!(idl, "{text}").expect("writes to a string");
    let all = 4 * n;
    let forwards: Vec<String> = (0..all).map(|i| format!("interface f{i};")).collect();
    add(forwards.join("\n"));
    let interfaces: Vec<String> = (0..all).map(|i| format!("interface f{i} {{}};")).collect();
    add(interfaces.join("\n"));
    add(list(&|i| format!("exception x{i} {{}};"), "\n"));
    add(list(&|i| format!("typedef long t{i};"), "\n"));
    add(format!("enum E {{ {} }};", list(&|i| format!("e{i}"), ", ")));
    add(format!("struct S {{ {} }};", list(&|i| format!("t{i} m{i};"), "\n")));
    let cases = list(&|i| format!("case {i}: long c{i};"), "\n");
    add(format!("union U switch (long) {{ {cases} }};"));
    let raised = list(&|i| format!("x{i}"), ", ");
    let params = list(&|i| format!("in long p{i}"), ", ");
    let operations = list(&|i| format!("void o{i}();"), "\n");
    let attributes = list(&|i| format!("attribute long a{i};"), "\n");
    add(format!(
        "interface I {{ void f({params}) raises ({raised});\n{operations}\n{attributes} }};"
    ));
    idl
}

/// Runs the command under valgrind; `None` if it is not installed, which is an error if `OXORB_REQUIRE_TOOLS` is set.
fn instructions(args: &[&str]) -> Option<i64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(env!("CARGO_BIN_EXE_oxorb"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            missing("valgrind", &error.to_string());
            return None;
        }
    };
    let log = text(&output.stderr);
    let count = log.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.unwrap_or_else(|| panic!("{args:?}: no count in\n{log}"));
    Some(count.trim().parse().expect("a number"))
}

#[test]
#[ignore = "minutes under valgrind: .ci/full valgrind"]
fn every_verb_takes_linear_time() {
    let folder = Folder::new("idl-cost");
    let files = [100, 200, 400].map(|n| folder.file(&format!("n{n}.idl"), &many(n)));
    let verbs = [
        &["fmt", "--check"][..],
        &["show", "--format=json"],
        &["show", "--equivalent"],
        &["show", "--implied=ami"],
        &["diff"],
    ];
    // Run two verbs at a time: other processes do not affect the number of instructions.
    let next = AtomicUsize::new(0);
    let one_by_one = || {
        while let Some(verb) = verbs.get(next.fetch_add(1, Ordering::Relaxed)) {
            takes_linear_time(verb, &files);
        }
    };
    thread::scope(|scope| {
        scope.spawn(one_by_one);
        one_by_one();
    });
}

fn takes_linear_time(verb: &[&str], files: &[String; 3]) {
    let cost = |file: &str| match verb {
        ["diff"] => instructions(&["idl", "diff", file, file]),
        verb => instructions(&[&["idl"], verb, &[file]].concat()),
    };
    let [Some(one), Some(two), Some(four)] = files.each_ref().map(|file| cost(file)) else {
        return;
    };
    // The fixed cost of the process cancels out. The ratio is 2 for linear and 4 for quadratic growth.
    let growth = (four - two) as f64 / (two - one) as f64;
    assert!(growth < 2.15, "{verb:?} grows by {growth:.2}: {one}, {two}, {four}");
}

#[test]
fn sources_without_end_are_refused_by_every_verb() {
    for verb in [
        &["check", "/dev/zero"][..],
        &["fmt", "/dev/zero"],
        &["fmt", "--check", "/dev/zero"],
        &["show", "/dev/zero"],
        &["diff", "/dev/zero", "/dev/zero"],
        &["gen", "--check", "/dev/zero"],
    ] {
        let output = bounded(verb);
        assert_eq!(output.status.code(), Some(1), "{verb:?}");
        let message = text(&output.stderr);
        assert!(message.contains("64 MiB"), "{verb:?}: {message}");
    }
}

#[test]
fn an_include_without_end_is_refused() {
    let folder = Folder::new("idl-endless-include");
    let file = folder.file("a.idl", "#include \"/dev/zero\"\n");
    let output = bounded(&["check", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("64 MiB"));
}

#[test]
fn modules_nested_too_deep_are_refused_by_every_verb() {
    let folder = Folder::new("idl-deep");
    let deep = "module m {".repeat(100_000) + &"};".repeat(100_000);
    let file = folder.file("deep.idl", &deep);
    for verb in [
        &["check", &file][..],
        &["fmt", "--check", &file],
        &["show", &file],
        &["diff", &file, &file],
    ] {
        let output = bounded(verb);
        assert_eq!(output.status.code(), Some(1), "{verb:?}");
        let message = text(&output.stderr);
        assert!(message.contains("100 levels"), "{verb:?}: {message}");
    }
}

/// Runs a verb in 1 GiB of memory.
fn bounded(verb: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -v 1048576; exec \"$0\" idl \"$@\""])
        .arg(env!("CARGO_BIN_EXE_oxorb"))
        .args(verb)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}
