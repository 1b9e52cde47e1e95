//! Shared libraries of other ORBs' programs.

use std::process::Command;

/// Prefixes of library names: of omniORB, those that each program loads, and those that most load; likewise of TAO.
const LIBRARIES: [&str; 9] = [
    "libomnithread.so",
    "libomniORB4.so",
    "libomniDynamic4.so",
    "libACE.so",
    "libTAO.so",
    "libTAO_AnyTypeCode.so",
    "libTAO_PortableServer.so",
    "libTAO_RTCORBA.so",
    "libTAO_RTPortableServer.so",
];

/// Returns the libraries that the dynamic linker knows, with the sizes of their files in octets. Debian strips its
/// packages.
pub(super) fn installed() -> Result<Vec<(String, u64)>, String> {
    let run = ["ldconfig", "/sbin/ldconfig"]
        .iter()
        .find_map(|name| Command::new(name).arg("-p").output().ok());
    let Some(run) = run else {
        return Err("cannot run ldconfig, which knows the libraries of other ORBs".to_owned());
    };
    let text = String::from_utf8_lossy(&run.stdout);
    let mut found = Vec::new();
    for library in LIBRARIES {
        let Some(path) = text
            .lines()
            .filter_map(|line| line.trim().split_once(" => "))
            .find_map(|(name, path)| name.starts_with(library).then_some(path))
        else {
            continue;
        };
        let file =
            std::fs::metadata(path).map_err(|error| format!("cannot look at {path}: {error}"))?;
        found.push((library.to_owned(), file.len()));
    }
    Ok(found)
}
