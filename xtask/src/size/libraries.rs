//! Shared libraries that programs of other ORBs load.

use std::process::Command;

/// Libraries by the start of their names: of omniORB what each program has, and what most have; the same of TAO.
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

/// Returns those of them that the dynamic linker knows, with the octets of their files. Debian strips what it packages.
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
