//! Identifiers of objects within their POA.

/// Identifier of one object within its POA (`PortableServer::ObjectId`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectId(Vec<u8>);

impl ObjectId {
    /// Returns the octets.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ObjectId {
    fn from(id: &str) -> Self {
        ObjectId(id.as_bytes().to_vec())
    }
}

impl From<String> for ObjectId {
    fn from(id: String) -> Self {
        ObjectId(id.into_bytes())
    }
}

impl From<&[u8]> for ObjectId {
    fn from(id: &[u8]) -> Self {
        ObjectId(id.to_vec())
    }
}

impl From<Vec<u8>> for ObjectId {
    fn from(id: Vec<u8>) -> Self {
        ObjectId(id)
    }
}

impl From<&ObjectId> for ObjectId {
    fn from(id: &ObjectId) -> Self {
        id.clone()
    }
}
