//! Text of peers never controls the terminal: newline, ESC, C1 controls, bidirectional controls.

use std::process::{Command, Output};

use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Ref, Servant, SystemException,
    Upcall,
};

const HOSTILE: &str = "IDL:Bad\n\u{1b}[2J\u{9b}31m\u{7f}\u{202e}:1.0";

struct Hostile;

impl Servant for Hostile {
    fn repository_id(&self) -> &str {
        HOSTILE
    }

    fn is_a(&self, _: &str) -> bool {
        true
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "raise" => upcall.raise(&Hostile),
            "text" => upcall.reply(|e| e.string(HOSTILE)),
            _ => upcall.fail(SystemException::unknown(0, CompletionStatus::No)),
        }
    }
}

impl oxorb::__gen::ServantError for Hostile {
    fn system(&self) -> Option<SystemException> {
        None
    }

    fn raise<'a>(&'a self, e: &mut oxorb::cdr::Encoder<'a>) -> oxorb::cdr::Result<()> {
        e.string(HOSTILE)
    }
}

fn clean(args: &[&str], output: &Output) {
    for (text, hex) in [(&output.stdout, "out"), (&output.stderr, "err")] {
        let text = String::from_utf8(text.clone()).unwrap();
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(bad), "{args:?} {hex}: {text:?}");
        assert!(!text.contains("Bad\n"), "{args:?} {hex}: {text:?}");
    }
    assert!(!output.stdout.is_empty() || !output.stderr.is_empty());
}

#[test]
fn peers_cannot_control_the_terminal() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let poa = orb.root_poa();
    let reference = poa.activate_servant(std::sync::Arc::new(Hostile)).unwrap();
    poa.manager().activate().unwrap();
    let object = ObjectRef::from_ref(reference);
    let mut ior = object.reference().ior().clone();
    let honest = object.to_ior();
    ior.type_id = HOSTILE.to_owned();
    let hostile = ObjectRef::from_ref(Ref::new(&orb, ior)).to_ior();
    let folder = std::env::temp_dir().join(format!("oxorb-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let idl = folder.join("x.idl");
    std::fs::write(
        &idl,
        "exception E {}; interface X { void raise() raises (E); string text(); };",
    )
    .unwrap();
    let idl = idl.display().to_string();
    for reference in [&honest, &hostile] {
        for args in [
            &["ping", "-c", "1", reference][..],
            &["ping", "-c", "1", reference, "--format", "json"],
            &["ior", "show", reference],
            &["ior", "show", reference, "--format", "json"],
            &["call", reference, "raise", "--idl", &idl, "--interface", "X"],
            &["call", reference, "text", "--idl", &idl, "--interface", "X"],
            &["call", reference, "text", "--idl", &idl],
            &["call", reference, "nonsense", "--idl", &idl],
            &["call", reference, "_repository_id"],
            &["name", "ls", "--at", reference],
            &["sched", "list", "--at", reference],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_oxorb")).args(args).output();
            clean(args, &output.unwrap());
        }
    }
    orb.shutdown(true).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}
