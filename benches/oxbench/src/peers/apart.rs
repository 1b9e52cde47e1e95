//! Peers in a separate workspace, built on demand.

use std::path::PathBuf;

use crate::Result;

/// Folder of the programs, as built by their workspace.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/target/release");

/// Program that contains both sides of a pair.
pub(crate) struct Apart {
    program: &'static str,
    /// Environment variable with the path of the program, if it is elsewhere.
    variable: &'static str,
    /// Processor time of building it.
    takes: &'static str,
}

/// iceoryx2.
pub(crate) const ICEORYX2: Apart =
    Apart { program: "oxbench-iceoryx2", variable: "OXBENCH_ICEORYX2", takes: "two minutes" };

/// zenoh: router, and supplier and consumers.
pub(crate) const ZENOH: Apart =
    Apart { program: "oxbench-zenoh", variable: "OXBENCH_ZENOH", takes: "some ten minutes" };

/// zenoh in shared memory.
pub(crate) const ZENOH_SHM: Apart = Apart {
    program: "oxbench-zenoh-shm",
    variable: "OXBENCH_ZENOH_SHM",
    takes: "some ten minutes",
};

impl Apart {
    /// Returns the program.
    ///
    /// # Errors
    /// The program is not built; the message explains how to build it.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        let Apart { program, variable, takes } = self;
        let path = std::env::var_os(variable)
            .map_or_else(|| PathBuf::from(FOLDER).join(program), PathBuf::from);
        if path.is_file() {
            return Ok(path);
        }
        let text = format!(
            "there is no {}: cargo build --release --locked --manifest-path benches/peers/Cargo.toml -p {program} \
             ({takes}), or {variable}=PROGRAM",
            path.display()
        );
        Err(text.into())
    }
}
