//! Names of all checks, and the servers to which some do not apply.

use crate::interop::orb::Orb;

/// Names of the checks. A client must report each of them, or it must be listed in [`not_applicable`].
pub(super) const NAMES: &[&str] = &[
    "initial_reference",
    "bind_and_resolve",
    "kinds_differ",
    "already_bound",
    "rebind",
    "unbind",
    "contexts",
    "missing_node",
    "not_context",
    "rebind_wrong_kind",
    "rebind_context",
    "invalid_name",
    "not_empty",
    "destroy",
    "list",
    "iterator",
    "list_nothing_first",
    "to_string_and_back",
    "malformed_text",
    "trailing_dot",
    "resolve_str",
    "to_url",
    "invalid_address",
    "corbaname",
    "latin1",
    "other_server",
];

/// Returns why a check does not apply to this server for any client: the server's different behaviour.
pub(super) fn not_applicable(name: &str, server: Orb) -> Option<&'static str> {
    Some(match (server, name) {
        (Orb::Omni, "rebind_wrong_kind") => "omniNames replaces a context by an object",
        (Orb::Omni | Orb::Jac, "not_context") => {
            "the server calls the object to learn whether it is a context, but the objects of these checks do not exist"
        }
        (Orb::Jac, "already_bound") => {
            "JacORB's server rebinds the name of an object that does not answer"
        }
        (Orb::Jac, "destroy") => "JacORB's server still answers requests to a destroyed context",
        (Orb::Jac, "malformed_text" | "trailing_dot") => {
            "JacORB's server accepts text that ends with a slash or a dot"
        }
        (Orb::Jac, "missing_node") => {
            "JacORB's server omits the components after the missing one from rest_of_name"
        }
        (Orb::Jac, "to_string_and_back") => {
            "JacORB's server cannot parse an escaped backslash that it wrote"
        }
        (Orb::Jac, "to_url") => "JacORB's server rejects an address with an object key",
        (Orb::Jac, "unbind") => "JacORB's server raises not_context for a missing name",
        _ => return None,
    })
}
