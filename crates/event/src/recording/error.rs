//! Errors of writing or reading a recording.

use std::fmt;

/// Error of writing or reading a recording.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file is not MCAP, because it does not begin with the magic octets of this format.
    #[error("this is not an MCAP file: it does not begin with the format's magic octets")]
    NotMcap,
    /// A chunk is compressed with this method.
    #[error(
        "its chunks are compressed with {0:?}, but only uncompressed chunks are supported: `mcap compress \
         --compression none` of the MCAP tools converts it"
    )]
    Compressed(String),
    /// A record is larger than [`PlaybackLimits::record`](crate::recording::PlaybackLimits::record) permits.
    #[error("a record of {octets} octets is larger than the limit of {limit}")]
    RecordTooLarge {
        /// Size of the record in octets.
        octets: u64,
        /// The limit.
        limit: usize,
    },
    /// The total size of topics and schemas exceeds
    /// [`PlaybackLimits::descriptions`](crate::recording::PlaybackLimits::descriptions).
    #[error("its topics and schemas are larger than the limit of {limit} octets")]
    DescriptionsTooLarge {
        /// The limit in octets.
        limit: usize,
    },
    /// A message belongs to a topic that no earlier record declares.
    #[error("a message belongs to channel {0}, which no earlier record declares")]
    UnknownTopic(u16),
    /// A topic has a schema that no earlier record declares.
    #[error("topic {topic:?} has schema {schema}, which no earlier record declares")]
    UnknownSchema {
        /// The topic.
        topic: String,
        /// Number of the schema.
        schema: u16,
    },
    /// A message does not consist of a header and plain CDR.
    #[error(fmt = not_plain_cdr)]
    NotPlainCdr {
        /// Representation in the header; `None` if the message is shorter than a header.
        representation: Option<u16>,
    },
    /// A record of this kind is too short for its fields, or contains text that is not UTF-8.
    #[error("a record of kind {0:#04x} is shorter than its parts, or has text that is not UTF-8")]
    BadRecord(u8),
    /// The lengths in a chunk contradict each other.
    #[error("the lengths within a chunk contradict each other")]
    BadChunk,
    /// A chunk contains a record of a kind that is not permitted there.
    #[error("a chunk contains a record of kind {0:#04x}, which is not allowed there")]
    ForeignInChunk(u8),
    /// The checksum of a chunk does not match, because the chunk was damaged.
    #[error("a chunk was damaged: its checksum (CRC-32) differs")]
    Damaged,
    /// The file could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The recording has more topics or schemas than the format permits.
    #[error("the format of recordings does not allow it: {0}")]
    Format(#[source] mcap::McapError),
}

fn not_plain_cdr(representation: &Option<u16>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match representation {
        Some(representation) => write!(
            f,
            "the message has representation {representation:#06x}, but only plain CDR (0x0000, 0x0001) is supported"
        ),
        None => f.write_str("the message is shorter than the 4 octets of a CDR header"),
    }
}

impl fmt::Debug for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<mcap::McapError> for RecordingError {
    fn from(error: mcap::McapError) -> Self {
        match error {
            mcap::McapError::Io(error) => Self::Io(error),
            other => Self::Format(other),
        }
    }
}
