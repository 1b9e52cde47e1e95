//! Topics and schemas of a recording's messages.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Encoding of schemas in OMG IDL.
pub const OMG_IDL: &str = "omgidl";

/// A stream of messages of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Topic {
    /// Name that viewers show, by convention with slashes between its parts.
    pub name: String,
    /// Encoding of the messages: [`CDR`](crate::recording::CDR), `json` and so on.
    pub encoding: String,
    /// Type of the messages, if known.
    pub schema: Option<Arc<Schema>>,
    /// Metadata of the application, which viewers show without interpretation.
    pub metadata: BTreeMap<String, String>,
}

/// A type of messages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schema {
    /// Name of the type; in IDL its scoped name, such as `Plant::Level`.
    pub name: String,
    /// Language of the description: [`OMG_IDL`], `ros2msg`, `jsonschema` and so on.
    pub encoding: String,
    /// Description of the type and of all types that it uses.
    pub data: Vec<u8>,
}

impl Schema {
    /// Returns a schema in IDL. `name` is the scoped name of the type, `text` declares it and all types that it
    /// uses.
    pub fn idl(name: &str, text: &str) -> Arc<Schema> {
        Arc::new(Schema {
            name: name.to_owned(),
            encoding: OMG_IDL.to_owned(),
            data: text.as_bytes().to_vec(),
        })
    }

    /// Returns the description if it is IDL.
    pub fn text(&self) -> Option<&str> {
        match self.encoding == OMG_IDL {
            true => std::str::from_utf8(&self.data).ok(),
            false => None,
        }
    }
}
