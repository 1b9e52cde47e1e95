//! Files that every ORB brings along.

use std::path::Path;

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
    orb.then_some(("<orb.idl>", include_str!("builtin/orb.idl")))
}

/// The same for a file that stands in where no other of its name is found:
/// what components are made of, for the IDL they are
/// [equivalent](crate::equivalent) to.
pub(super) fn stand_in(name: &Path) -> Option<(&'static str, &'static str)> {
    let components = name.file_name()? == "Components.idl";
    components.then_some((
        "<Components.idl>",
        include_str!("../../../../idl/omg/Components.idl"),
    ))
}
