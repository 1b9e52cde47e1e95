//! Files that every ORB brings along.

use std::path::Path;

/// Title and text of a predefined file. They stand in for files that are
/// found in no include folder.
pub(super) fn find(name: &Path) -> Option<(&'static str, &'static str)> {
    let file = name.file_name()?.to_str()?;
    let folder = name.parent()?.to_str()?;
    let orb = match folder {
        "" => file == "orb.idl",
        "omniORB" | "omniORB4" => file == "orb.idl",
        "tao" => file == "orb.idl" || file.ends_with("Seq.pidl"),
        _ => false,
    };
    orb.then_some(("<orb.idl>", include_str!("builtin/orb.idl")))
}
