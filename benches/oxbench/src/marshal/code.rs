//! Size of the code that writes and reads each type, compiled and interpreted.
//!
//! The sizes are read from an object file of this program, whose symbols name the types of each generic function:
//!
//! ```sh
//! cargo rustc --release -p oxbench --bin oxbench -- -C symbol-mangling-version=v0 -C codegen-units=1 -C lto=off \
//!     --emit=obj=oxbench.o
//! ```

use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::Result;

/// Types of `idl/marshal.idl` with their own code.
const TYPES: [&str; 7] = ["Sample", "Quality", "Reading", "Entry", "Choice", "Order", "Node"];

/// Fragments of the mangled names of the functions in which each benchmark row writes and reads its value once. Their
/// whole size counts as codec code, because the compiler may inline parts of the codec into them.
const ROOTS: [&str; 2] = ["9write_out", "7read_in"];

/// Sizes in octets of the machine code for one type, including its sequences.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Code {
    pub(crate) name: &'static str,
    pub(crate) compiled: u64,
    pub(crate) interpreted: u64,
}

/// Reads the functions of an object file with `nm`.
pub(crate) fn measure(object: &Path) -> Result<Vec<Code>> {
    let output =
        Command::new("nm")
            .args(["--print-size", "--defined-only"])
            .arg(object)
            .output()
            .map_err(|error| format!("cannot run nm ({error}); on Debian: apt install binutils"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("nm cannot read {}: {complaint}", object.display()).into());
    }
    let code = sums(&String::from_utf8_lossy(&output.stdout));
    if code.iter().any(|code| code.compiled == 0 || code.interpreted == 0) {
        let what = "has no function for some type; was it made with -C symbol-mangling-version=v0?";
        return Err(format!("{} {what}", object.display()).into());
    }
    Ok(code)
}

fn sums(symbols: &str) -> Vec<Code> {
    let mut code = TYPES.map(|name| Code { name, compiled: 0, interpreted: 0 });
    for line in symbols.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, size, "t" | "T" | "w" | "W", symbol] = fields[..] else {
            continue;
        };
        let Ok(size) = u64::from_str_radix(size, 16) else {
            continue;
        };
        let root = ROOTS.iter().any(|root| symbol.contains(root));
        // Code that times the rows is no part of the codec, though parts of the codec were inlined there.
        if !root && (symbol.contains("4side") || !symbol.contains("9oxorb_cdr")) {
            continue;
        }
        let named = |code: &&mut Code| {
            let ident = format!("{}{}", code.name.len(), code.name);
            let at = symbol.find(&ident);
            // The digits before the name must be its whole length: `16Sample` is a different symbol of sixteen letters.
            at.is_some_and(|at| !symbol[..at].ends_with(|c: char| c.is_ascii_digit()))
        };
        let Some(code) = code.iter_mut().find(named) else {
            continue;
        };
        if symbol.contains("8compiled3idl") {
            code.compiled += size;
        } else if symbol.contains("11interpreted3idl") {
            code.interpreted += size;
        }
    }
    code.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_counted_for_the_types_they_are_made_for() {
        let symbols = "\
0000 0000000000000010 t _RNvXNt8compiled3idl7marshalNtB_5EntryNtNt9oxorb_cdr6Encode6encode
0000 0000000000000020 t _RINv4side9write_outNt8compiled3idl7marshal5EntryE
0000 0000000000000400 t _RINv4side4timeNt8compiled3idl7marshal5EntryE
0000 0000000000000008 T _RNvXNt11interpreted3idl7marshalNtB_5EntryNtNt9oxorb_cdr11interpreted4Part5write
0000 0000000000000800 d _RNvXNt11interpreted3idl7marshalNtB_5EntryNtNt9oxorb_cdr4DATA
                 U memcpy
";
        let found = sums(symbols);
        let entry = found.iter().find(|code| code.name == "Entry").unwrap();
        assert_eq!((entry.compiled, entry.interpreted), (0x30, 0x08));
        assert!(found.iter().filter(|code| code.compiled > 0).count() == 1);
    }
}
