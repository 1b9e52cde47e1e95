//! Compiles the IDL of the pages whose Rust includes the generated code.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use oxorb_idlgen::Builder;

/// Pages, relative to the root of the work tree, and the name that `include_idl!` has on each page.
const PAGES: &[(&str, &str)] = &[
    ("README.md", "bank"),
    ("docs/coming-from/grpc.md", "accounts"),
    ("docs/coming-from/jacorb.md", "demo"),
    ("docs/coming-from/omniorb.md", "demo"),
    ("docs/coming-from/ros2.md", "nav"),
    ("docs/coming-from/tango.md", "lab"),
    ("docs/coming-from/tao.md", "demo"),
    ("docs/coming-from/zenoh.md", "plant"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let mut sources = BTreeMap::new();
    for (page, name) in PAGES {
        let path = Path::new("../..").join(page);
        println!("cargo:rerun-if-changed={}", path.display());
        let text = fs::read_to_string(path).map_err(|error| format!("{page}: {error}"))?;
        let blocks = text.split("```idl\n").skip(1);
        let idl: String = blocks.filter_map(|rest| rest.split("```").next()).collect();
        let known = sources.entry(name).or_insert_with(|| idl.clone());
        if idl.is_empty() || *known != idl {
            return Err(
                format!("{page} has no IDL, or differs from another page with {name}.idl").into()
            );
        }
    }
    let mut builder = Builder::new();
    for (name, idl) in sources {
        let file = out.join(name).with_extension("idl");
        fs::write(&file, idl)?;
        builder = builder.file(file);
    }
    builder.generate()?.files.write()?;
    Ok(())
}
