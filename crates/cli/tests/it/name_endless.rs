//! `oxorb name` with a name server whose listings never end, and whose names contain control characters.

use std::process::{Command, Output};

use oxorb::{Interface as _, Orb};
use oxorb_naming::cos_naming::naming_context::*;
use oxorb_naming::cos_naming::{
    Binding, BindingIterator, BindingIteratorRef, BindingList, BindingType, NameComponent,
    NamingContext, NamingContextRef,
};
use oxorb_testkit::{at_once, watchdog};

/// Context with endless bindings, some of which are also such contexts.
struct Endless {
    orb: Orb,
    kind: BindingType,
    /// Text of each name.
    text: &'static str,
}

struct Iterator {
    kind: BindingType,
    text: &'static str,
}

fn portion(kind: BindingType, text: &str) -> BindingList {
    let binding = |number| Binding {
        binding_name: vec![NameComponent { id: format!("{number}{text}"), kind: String::new() }],
        binding_type: kind,
    };
    (0..10).map(binding).collect()
}

impl BindingIterator for Iterator {
    fn next_one(&self) -> oxorb::Result<(bool, Binding)> {
        Ok((true, portion(self.kind, self.text).remove(0)))
    }

    fn next_n(&self, _: u32) -> oxorb::Result<(bool, BindingList)> {
        Ok((true, portion(self.kind, self.text)))
    }

    fn destroy(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

const NO: oxorb::SystemException =
    oxorb::SystemException::no_implement(0, oxorb::CompletionStatus::No);

impl NamingContext for Endless {
    fn bind(&self, _: &[NameComponent], _: Option<&oxorb::ObjectRef>) -> Result<(), BindError> {
        Err(NO.into())
    }
    fn rebind(&self, _: &[NameComponent], _: Option<&oxorb::ObjectRef>) -> Result<(), RebindError> {
        Err(NO.into())
    }
    fn bind_context(
        &self,
        _: &[NameComponent],
        _: Option<&NamingContextRef>,
    ) -> Result<(), BindContextError> {
        Err(NO.into())
    }
    fn rebind_context(
        &self,
        _: &[NameComponent],
        _: Option<&NamingContextRef>,
    ) -> Result<(), RebindContextError> {
        Err(NO.into())
    }
    fn resolve(&self, _: &[NameComponent]) -> Result<Option<oxorb::ObjectRef>, ResolveError> {
        let next = Endless { orb: self.orb.clone(), ..*self };
        let next: NamingContextRef = self.orb.root_poa().activate(next).map_err(|_| NO)?;
        Ok(Some(next.unchecked_narrow()))
    }
    fn unbind(&self, _: &[NameComponent]) -> Result<(), UnbindError> {
        Err(NO.into())
    }
    fn new_context(&self) -> oxorb::Result<Option<NamingContextRef>> {
        Err(NO)
    }
    fn bind_new_context(
        &self,
        _: &[NameComponent],
    ) -> Result<Option<NamingContextRef>, BindNewContextError> {
        Err(NO.into())
    }
    fn destroy(&self) -> Result<(), DestroyError> {
        Err(NO.into())
    }
    fn list(&self, _: u32) -> oxorb::Result<(BindingList, Option<BindingIteratorRef>)> {
        let iterator = Iterator { kind: self.kind, text: self.text };
        let iterator = self.orb.root_poa().activate(iterator).map_err(|_| NO)?;
        Ok((Vec::new(), Some(iterator)))
    }
}

/// Runs `oxorb name` with a server of these names.
fn name(kind: BindingType, text: &'static str, args: &[&str]) -> Output {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let root = Endless { orb: orb.clone(), kind, text };
    let root: NamingContextRef = orb.root_poa().activate(root).unwrap();
    orb.root_poa().manager().activate().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("name")
        .args(args)
        .args(["--at", &root.to_ior()])
        .output()
        .expect("the command starts");
    orb.shutdown(true).unwrap();
    output
}

#[test]
fn an_endless_iterator_is_cut() {
    let _watchdog = watchdog(std::time::Duration::from_secs(120));
    let output = name(BindingType::Nobject, "", &["ls", "--limit", "25"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().count(), 25, "{shown}");
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("stopped after 25 names"), "{why}");
    assert!(why.contains("--limit N"), "{why}");
}

#[test]
fn a_timeout_holds_for_the_whole_command() {
    let _watchdog = watchdog(std::time::Duration::from_secs(120));
    let most = &["--limit", "1000000000", "--timeout", "500"];
    let output = name(BindingType::Nobject, "", &[&["ls"][..], most].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.is_empty());
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("TIMEOUT"), "{why}");
}

#[test]
fn a_tree_without_end_is_cut() {
    let _watchdog = watchdog(std::time::Duration::from_secs(120));
    let commands = [
        &["tree", "--limit", "40"][..],
        &["tree", "--depth", "1000000", "--timeout", "1000"],
        &["prune", "--limit", "40"],
    ];
    at_once(commands, |args| {
        let output = name(BindingType::Ncontext, "", args);
        assert_eq!(output.status.code(), Some(1));
        let why = String::from_utf8(output.stderr).unwrap();
        assert!(why.contains("stopped after"), "{why}");
    });
}

#[test]
fn names_cannot_control_a_terminal() {
    let _watchdog = watchdog(std::time::Duration::from_secs(120));
    let hostile = "\n\u{1b}[2J\u{9b}31m\u{202e}";
    for args in [
        &["ls", "--limit", "5"][..],
        &["ls", "--limit", "5", "--long"],
        &["tree", "--limit", "5"],
        &["prune", "--limit", "5"],
    ] {
        let output = name(BindingType::Nobject, hostile, args);
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(bad), "{args:?}: {text:?}");
            assert!(!text.contains("\n[2J"), "{args:?}: {text:?}");
        }
    }
}
