//! Files that every ORB provides.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

/// Returns title and text of a file that is always built in, even if other files of its name exist: its definitions
/// must be those of CORBA.
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

/// Reports whether a name in module `CORBA` is defined by `<orb.idl>`, rather than by a file of another ORB.
pub(crate) fn orb_has(scoped_name: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| ORB.split(|c: char| !c.is_alphanumeric() && c != '_').collect());
    scoped_name.split("::").all(|part| WORDS.contains(part))
}

const ORB: &str = include_str!("builtin/orb.idl");

/// Returns a built-in file that is used if no other file of its name is found: the base definitions of components, for
/// their [equivalent](crate::equivalent) IDL.
pub(super) fn stand_in(name: &Path) -> Option<(&'static str, &'static str)> {
    let components = name.file_name()? == "Components.idl";
    components.then_some(("<Components.idl>", include_str!("builtin/Components.idl")))
}
