//! Why a recording cannot be written or read.

use std::fmt;

/// Failure to write or read a recording.
#[non_exhaustive]
pub enum Error {
    /// The file is not MCAP: it does not begin like one.
    NotMcap,
    /// A chunk is compressed, with the method named.
    Compressed(String),
    /// A record is larger than [`Limits::record`](crate::recording::Limits::record) allows.
    RecordTooLarge {
        /// Octets of the record.
        octets: u64,
        /// The limit.
        limit: usize,
    },
    /// Topics and schemas together are larger than [`Limits::descriptions`](crate::recording::Limits::descriptions) allows.
    DescriptionsTooLarge {
        /// The limit in octets.
        limit: usize,
    },
    /// A message belongs to a topic that no record before it declares.
    UnknownTopic(u16),
    /// A topic has a schema that no record before it declares.
    UnknownSchema {
        /// The topic.
        topic: String,
        /// Number of the schema.
        schema: u16,
    },
    /// A message is not plain CDR behind its header.
    NotPlainCdr {
        /// The representation named by the header; `None`: the message is shorter than the header.
        representation: Option<u16>,
    },
    /// A record of this kind is shorter than its parts, or has text that is not UTF-8.
    BadRecord(u8),
    /// A chunk contradicts itself: its lengths do not agree.
    BadChunk,
    /// A chunk holds a record of a kind that has no place there.
    ForeignInChunk(u8),
    /// Octets of a chunk are not those that were written: the checksum differs.
    Damaged,
    /// Reading or writing the file failed.
    Io(std::io::Error),
    /// The format does not allow to write more: too many topics or schemas.
    Format(mcap::McapError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMcap => f.write_str(
                "this is not an MCAP file: it does not begin with the format's magic octets",
            ),
            Self::Compressed(how) => write!(
                f,
                "its chunks are compressed with {how:?}, and only uncompressed ones are read: \
                 `mcap compress --compression none` of the MCAP tools converts it"
            ),
            Self::RecordTooLarge { octets, limit } => {
                write!(f, "a record of {octets} octets is larger than the limit of {limit}")
            }
            Self::DescriptionsTooLarge { limit } => {
                write!(f, "its topics and schemas are larger than the limit of {limit} octets")
            }
            Self::UnknownTopic(id) => {
                write!(f, "a message belongs to channel {id}, which no record before it declares")
            }
            Self::UnknownSchema { topic, schema } => {
                write!(f, "topic {topic:?} has schema {schema}, which no record before it declares")
            }
            Self::NotPlainCdr { representation: Some(representation) } => write!(
                f,
                "the message has representation {representation:#06x}, and only plain CDR (0x0000, 0x0001) is read"
            ),
            Self::NotPlainCdr { representation: None } => {
                f.write_str("the message is shorter than the 4 octets of a CDR header")
            }
            Self::BadRecord(kind) => {
                write!(
                    f,
                    "a record of kind {kind:#04x} is shorter than its parts, or has text that is not UTF-8"
                )
            }
            Self::BadChunk => f.write_str("the lengths within a chunk contradict each other"),
            Self::ForeignInChunk(kind) => {
                write!(f, "a chunk holds a record of kind {kind:#04x}, which has no place there")
            }
            Self::Damaged => f.write_str("a chunk was damaged: its checksum (CRC-32) differs"),
            Self::Io(error) => error.fmt(f),
            Self::Format(error) => write!(f, "the format of recordings does not allow it: {error}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Format(error) => Some(error),
            _ => None,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<mcap::McapError> for Error {
    fn from(error: mcap::McapError) -> Self {
        match error {
            mcap::McapError::Io(error) => Self::Io(error),
            other => Self::Format(other),
        }
    }
}
