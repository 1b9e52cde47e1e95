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
        (Orb::Omni, "rebind_wrong_kind") => "omniNames binds an object in the place of a context",
        (Orb::Omni | Orb::Jac, "not_context") => {
            "the server calls an object to learn that it is no context, and the objects of these checks are not there"
        }
        (Orb::Jac, "already_bound") => {
            "JacORB's server gives away the name of an object that does not answer"
        }
        (Orb::Jac, "destroy") => "JacORB's server answers for a context that was destroyed",
        (Orb::Jac, "malformed_text" | "trailing_dot") => {
            "JacORB's server takes text that ends with a slash or a dot"
        }
        (Orb::Jac, "missing_node") => {
            "JacORB's server leaves out of rest_of_name what is behind the missing component"
        }
        (Orb::Jac, "to_string_and_back") => {
            "JacORB's server does not read the escaped backslash that it wrote"
        }
        (Orb::Jac, "to_url") => "JacORB's server refuses an address with an object key",
        (Orb::Jac, "unbind") => "JacORB's server says not_context of a name that is missing",
        _ => return None,
    })
}
