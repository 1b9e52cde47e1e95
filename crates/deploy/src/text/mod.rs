//! TOML for human authors: the elements of the schema as keys, with short forms for frequent ones.
//!
//! | short form | stands for |
//! |---|---|
//! | `implementation = "Gps"` | a reference by id |
//! | no `id` | an id that is the name |
//! | `[instance.configProperty]`, `rate = 20` | properties by name; a string, a boolean, a `long` or a `double` needs no type |
//! | `rate = { octet = 20 }` | a value of another basic type |
//! | `EventPublisher = "rate.pulse"` in a connection | an endpoint: kind, instance and port |

mod read;
mod write;

pub(crate) use read::{read, value};
pub(crate) use write::write;

/// Elements that are properties: a table of them is the short form, an array the long one.
const PROPERTIES: &[&str] = &[
    "execParameter",
    "configProperty",
    "infoProperty",
    "nodeExecParameter",
    "componentExecParameter",
    "property",
];

/// Key that holds the kind of a document other than a plan.
const KIND: &str = "document";

/// Kind of a document without that key.
const PLAN: &str = "DeploymentPlan";
