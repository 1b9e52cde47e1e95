//! The generator's additions for components are stored in `golden`, so that changes are visible. `BLESS=1` rewrites
//! them.

use std::path::Path;

use oxorb_idlgen::Builder;

/// Returns the text from the line that starts with `from` to the first line equal to `to`.
#[track_caller]
fn part<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from:?}"));
    let end = text[start..].find(to).expect("it ends") + to.len();
    &text[start..start + end]
}

#[test]
fn executors_contexts_and_servants() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let out = std::env::temp_dir().join(format!("oxorb-plant-{}", std::process::id()));
    let builder = Builder::new().file(golden.join("plant.idl")).executors(true);
    let generated = builder.out_dir(&out).generate().expect("the IDL is right");
    assert!(
        generated.reports.iter().all(|report| report.diagnostics.is_empty()),
        "nothing is left out"
    );
    std::fs::create_dir_all(&out).unwrap();
    generated.files.write().unwrap();
    let text = std::fs::read_to_string(out.join("plant.rs")).unwrap();
    std::fs::remove_dir_all(out).unwrap();
    assert!(!text.contains("pub struct Cookie"), "it is the run time's");

    let end = "\n    }\n";
    let module = |name: &str| part(&text, &format!("    pub mod {name} {{\n"), end);
    let parts = [
        part(&text, "    pub trait PumpExecutor", end),
        part(module("pump"), "        #[doc(hidden)]\n        pub struct Ports", end),
        part(&text, "    pub trait PumpHomeExecutor", end),
        part(module("pump_home"), "        /// The servant around an executor.", end),
        part(&text, "    pub trait PumpStoreExecutor", end),
        part(module("pump_store"), "        /// The servant around an executor.", end),
        part(module("level_consumer"), "        /// The consumer of an event sink.", end),
    ];
    let parts = format!("// Parts of the Rust made from plant.idl.\n\n{}", parts.join("\n"));
    let file = golden.join("plant.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &parts).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    let differs = kept.lines().zip(parts.lines()).position(|(kept, new)| kept != new);
    assert!(
        kept == parts,
        "run with BLESS=1; it differs from line {differs:?} on (counted from 0)"
    );
}

/// The IDL on the page generates executors; `examples/two-nodes` compiles the IDL of the longer example.
#[test]
fn the_first_idl_of_the_page_makes_executors() {
    let page = include_str!("../../../../docs/components.md");
    let (_, rest) = page.split_once("```idl\n").expect("the page shows IDL");
    let (idl, _) = rest.split_once("```").expect("it ends");
    let out = std::env::temp_dir().join(format!("oxorb-page-{}", std::process::id()));
    std::fs::create_dir_all(&out).unwrap();
    let file = out.join("avionics.idl");
    std::fs::write(&file, idl).unwrap();
    let builder = Builder::new().file(&file).executors(true);
    let generated = builder.out_dir(&out).generate().expect("the IDL is right");
    let mut reports = generated.reports.iter();
    assert!(reports.all(|report| report.diagnostics.is_empty()));
    std::fs::remove_dir_all(out).unwrap();
}
