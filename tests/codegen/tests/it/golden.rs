//! Generated text is stored in `golden`, so that changes of the generator are visible as changes of Rust. `BLESS=1`
//! rewrites it.

use std::path::{Path, PathBuf};

use oxorb_idlgen::{Builder, Files, StaleState};

/// Files whose Rust is stored.
const KEPT: [&str; 2] = ["bank.idl", "global.idl"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn generated(out: &Path) -> Files {
    let idl = KEPT.map(|file| folder("idl").join(file));
    let builder = Builder::new().files(idl).out_dir(out);
    builder.generate().expect("the IDL is right").files
}

#[test]
fn committed_rust_is_fresh() {
    let files = generated(&folder("golden"));
    if std::env::var_os("BLESS").is_some() {
        files.write().unwrap();
    }
    let stale: Vec<_> = files.check().iter().map(ToString::to_string).collect();
    assert!(stale.is_empty(), "run with BLESS=1: {stale:#?}");
}

#[test]
fn check_finds_what_is_stale() {
    let out = std::env::temp_dir().join(format!("oxorb-golden-{}", std::process::id()));
    let files = generated(&out);
    assert!(files.check().iter().all(|stale| stale.state == StaleState::Missing));
    files.write().unwrap();
    assert_eq!(files.check(), []);
    let bank = out.join("bank.rs");
    let text = std::fs::read_to_string(&bank).unwrap();
    std::fs::write(&bank, text.replace("i64", "i32")).unwrap();
    let stale = files.check();
    assert_eq!(stale.len(), 1);
    assert_eq!(stale[0].path, bank);
    assert!(matches!(stale[0].state, StaleState::Differs { line } if line > 1));
    std::fs::remove_dir_all(out).unwrap();
}

#[test]
fn the_same_idl_gives_the_same_text() {
    let out = folder("golden");
    assert_eq!(generated(&out), generated(&out));
}

/// Committed Rust compiles in place, without a build script.
mod committed {
    include!("../../golden/bank.rs");
}

#[test]
fn committed_rust_compiles() {
    let booking = committed::bank::Booking { amount: 1, text: "rent".into() };
    let statement: committed::bank::Statement = vec![booking];
    assert_eq!(statement.len(), 1);
}
