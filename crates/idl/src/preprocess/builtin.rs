//! Files that every ORB brings along.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

/// Title and text of a file that is known beforehand, wherever others of its
/// name may lie: what they define and what CORBA defines must be one thing.
pub(super) fn find(name: &Path) -> Option<(&'static str, &'static str)> {
    let file = name.file_name()?.to_str()?;
    let folder = name.parent()?.to_str()?;
    let orb = match folder {
        "" | "omniORB" | "omniORB4" => matches!(file, "orb.idl" | "corbaidl.idl"),
        "tao" => file == "orb.idl" || file.ends_with("Seq.pidl"),
        _ => false,
    };
    orb.then_some(("<orb.idl>", ORB))
}

/// Reports whether a name in module `CORBA` is one of `<orb.idl>`, rather than of a file of another ORB.
pub(crate) fn orb_has(scoped_name: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| ORB.split(|c: char| !c.is_alphanumeric() && c != '_').collect());
    scoped_name.split("::").all(|part| WORDS.contains(part))
}

const ORB: &str = include_str!("builtin/orb.idl");

/// Returns a file that stands in where no other of its name is found: what components are made of,
/// for the IDL they are [equivalent](crate::equivalent) to.
pub(super) fn stand_in(name: &Path) -> Option<(&'static str, &'static str)> {
    let components = name.file_name()? == "Components.idl";
    components.then_some(("<Components.idl>", include_str!("../../../../idl/omg/Components.idl")))
}
