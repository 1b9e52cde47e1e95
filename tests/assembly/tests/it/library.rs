//! Executors as a shared library: loaded, checked, run; and libraries that are rejected.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use oxorb::deployment::artifact::{Artifact, ArtifactError, Demands, Fact, Reason};
use oxorb_testkit::process::{Process, rerun, test_name};
use rustix::process::{Pid, Signal, kill_process};

/// Time limit, long enough for any machine, and reached only after an error.
const LIMIT: Duration = Duration::from_secs(60);

const PLAN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/deploy/tests/plans/avionics.toml");

/// Returns the library that was built with this test: next to it, or one folder above.
fn library() -> PathBuf {
    let here = std::env::current_exe().expect("a test is a program");
    let mut folders = here.ancestors().skip(1).take(2);
    let found = folders.find_map(|folder| {
        let file = folder.join("libavionics.so");
        file.is_file().then_some(file)
    });
    found.expect("the crate of these tests is a shared library as well")
}

/// Variable set in the process of a library.
const HOST: &str = "OXORB_TEST_HOST";

/// Runs the library in the process that the test below starts.
#[test]
fn host() {
    if std::env::var_os(HOST).is_none() {
        return;
    }
    let artifact = Artifact::open(&library(), &Demands::default()).unwrap();
    let arguments = ["host", "--plan", PLAN, "--node", "cockpit", "--process", "main"];
    let orb = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let arguments: Vec<String> = arguments.iter().chain(&orb).map(ToString::to_string).collect();
    assert_eq!(artifact.run(&arguments), Ok(0));
}

#[test]
fn a_library_runs_its_part_of_a_plan() {
    let mut command = rerun(test_name(host));
    command.env(HOST, "1");
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("navigation", LIMIT);
    assert!(line.ends_with("navigation: 48.5 11.25"), "{line}");
    let id = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process has an id"), Signal::TERM).expect("it runs");
    process.wait_success(LIMIT);
}

#[test]
fn a_locality_that_cannot_start_is_a_status_and_no_panic() {
    let artifact = Artifact::open(&library(), &Demands::default()).unwrap();
    let arguments = ["host", "--plan", "no-such-plan.toml", "--node", "n"];
    assert_eq!(artifact.run(&arguments.map(String::from)), Ok(1));
}

#[test]
fn a_library_says_what_it_is() {
    let artifact = Artifact::load(&library()).unwrap();
    for fact in [Fact::Version, Fact::Compiler, Fact::Target, Fact::Profile] {
        assert_eq!(Some(artifact.fact(fact).as_str()), fact.of_this_program());
    }
    assert_eq!(artifact.fact(Fact::Interfaces), avionics::avionics_interfaces::HASH);
}

fn refused(library: &Path, demands: &Demands) -> ArtifactError {
    match Artifact::open(library, demands) {
        Ok(_) => panic!("{} is not refused", library.display()),
        Err(error) => error,
    }
}

#[test]
fn other_interfaces_are_refused() {
    let demands = |hash: &str| Demands { interfaces: Some(hash.to_owned()), ..Demands::default() };
    assert!(Artifact::open(&library(), &demands(avionics::avionics_interfaces::HASH)).is_ok());
    let error = refused(&library(), &demands("0123456789abcdef")).to_string();
    assert!(
        error.contains("its hash of interfaces is")
            && error.contains("instead of \"0123456789abcdef\""),
        "{error}"
    );
}

/// Folder of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("oxorb-library-{test}-{}", oxorb_testkit::unique()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Compiles a library of a few lines.
    fn library(&self, name: &str, source: &str) -> PathBuf {
        let file = self.0.join(format!("{name}.rs"));
        std::fs::write(&file, source).unwrap();
        let library = self.0.join(format!("lib{name}.so"));
        let mut compile = Command::new("rustc");
        compile.args(["--edition", "2024", "--crate-type", "cdylib", "-C", "opt-level=0", "-o"]);
        compile.arg(&library).arg(&file);
        let run = compile.output().expect("rustc compiled this test");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        library
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a library with a hand-written record, whose function ends the process if it is called.
fn record(mark: &str, size: u32, facts: [&str; 5]) -> String {
    let facts: Vec<String> = facts.iter().map(|fact| format!("text({fact:?})")).collect();
    format!(
        r#"
#[repr(C)]
pub struct Text {{ length: u32, octets: [u8; 124] }}
#[repr(C)]
pub struct Record {{ mark: [u8; 8], size: u32, facts: u32, texts: [Text; 8], main: extern "C" fn(usize, usize) -> i32 }}
const fn text(from: &str) -> Text {{
    let from = from.as_bytes();
    let mut octets = [0; 124];
    let mut at = 0;
    while at < from.len() {{ octets[at] = from[at]; at += 1; }}
    Text {{ length: from.len() as u32, octets }}
}}
extern "C" fn main(_: usize, _: usize) -> i32 {{ std::process::abort() }}
#[unsafe(no_mangle)]
pub static oxorb_artifact: Record = Record {{
    mark: *b"{mark}",
    size: {size},
    facts: 8,
    texts: [{}, text(""), text(""), text("")],
    main,
}};
"#,
        facts.join(", ")
    )
}

const SIZE: u32 = 16 + 8 * 128 + 8;

fn own() -> [&'static str; 4] {
    [Fact::Version, Fact::Compiler, Fact::Target, Fact::Profile]
        .map(|fact| fact.of_this_program().unwrap())
}

#[test]
fn another_version_or_compiler_is_refused_before_it_is_called() {
    if !oxorb_testkit::peers::is_there("rustc") {
        return;
    }
    let folder = Folder::new("version");
    let [version, compiler, target, profile] = own();
    let written = record("OxORB-a1", SIZE, [version, compiler, target, profile, "h"]);
    let good = folder.library("good", &written);
    assert!(Artifact::open(&good, &Demands::default()).is_ok(), "the record is as it should be");

    let written = record("OxORB-a1", SIZE, ["0.0.9", compiler, target, profile, "h"]);
    let error = refused(&folder.library("old", &written), &Demands::default()).to_string();
    assert!(
        error.contains("its version of OxORB is \"0.0.9\" instead of")
            && error.contains("build it with"),
        "{error}"
    );

    let written = record("OxORB-a1", SIZE, [version, "rustc 1.0.0", target, "fast", "h"]);
    let other = folder.library("other", &written);
    let error = refused(&other, &Demands::default());
    let Reason::Different(different) = &error.why else {
        panic!("{error}");
    };
    let facts: Vec<Fact> = different.iter().map(|one| one.fact).collect();
    assert_eq!(facts, [Fact::Compiler, Fact::Profile]);
    let demands = Demands { accepted: vec![Fact::Compiler, Fact::Profile], ..Demands::default() };
    assert!(Artifact::open(&other, &demands).is_ok());
}

#[test]
fn what_is_no_library_of_components_is_refused() {
    if !oxorb_testkit::peers::is_there("rustc") {
        return;
    }
    let folder = Folder::new("wrong");
    let told = |library: &Path| refused(library, &Demands::default()).to_string();

    let text = folder.0.join("libtext.so");
    std::fs::write(&text, "no library at all\n").unwrap();
    let error = told(&text);
    assert!(
        error.contains("the system cannot load it")
            && error.contains("give the path of a shared library"),
        "{error}"
    );
    let error = told(&folder.0.join("libnowhere.so"));
    assert!(error.contains("the system cannot load it"), "{error}");

    let bare = folder.library("bare", "#[unsafe(no_mangle)] pub extern \"C\" fn another() {}");
    let error = told(&bare);
    assert!(
        error.contains("it does not export the symbol oxorb_artifact") && error.contains("export!"),
        "{error}"
    );

    let facts = ["", "", "", "", ""];
    let error = told(&folder.library("mark", &record("somebody", SIZE, facts)));
    assert!(error.contains("does not begin with the mark"), "{error}");
    let error = told(&folder.library("size", &record("OxORB-a1", 64, facts)));
    assert!(error.contains("has 64 octets instead of"), "{error}");
    // The record ends after its size field.
    let short = "#[repr(C, align(8))] pub struct Record([u8; 8], u32, u32);\n\
                 #[unsafe(no_mangle)] pub static oxorb_artifact: Record = Record(*b\"OxORB-a1\", 16, 8);";
    let error = told(&folder.library("short", short));
    assert!(error.contains("has 16 octets instead of"), "{error}");
}
