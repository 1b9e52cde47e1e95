//! Topics and schemas of a recording's messages.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Encoding of schemas that are written in OMG IDL.
pub const OMG_IDL: &str = "omgidl";

/// A stream of messages that have the same type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Name that viewers show. By convention, its parts are separated by slashes.
    pub name: String,
    /// Encoding of the messages, such as [`CDR`](crate::recording::CDR) or `json`.
    pub encoding: String,
    /// Type of the messages, if it is known.
    pub schema: Option<Arc<Schema>>,
    /// Metadata of the application. Viewers show it without interpreting it.
    pub metadata: BTreeMap<String, String>,
}

/// Description of a type of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schema {
    /// Name of the type. For IDL, its scoped name, such as `Plant::Level`.
    pub name: String,
    /// Language of the description, such as [`OMG_IDL`], `ros2msg` or `jsonschema`.
    pub encoding: String,
    /// Description of the type and of all types that it uses.
    pub data: Vec<u8>,
}

impl Schema {
    /// Returns a schema in IDL. `name` is the scoped name of the type, and `text` declares this type and all types that
    /// it uses.
    pub fn idl(name: &str, text: &str) -> Arc<Schema> {
        Arc::new(Schema {
            name: name.to_owned(),
            encoding: OMG_IDL.to_owned(),
            data: text.as_bytes().to_vec(),
        })
    }

    /// Returns the text of the description if it is in IDL.
    pub fn text(&self) -> Option<&str> {
        match self.encoding == OMG_IDL {
            true => std::str::from_utf8(&self.data).ok(),
            false => None,
        }
    }
}
