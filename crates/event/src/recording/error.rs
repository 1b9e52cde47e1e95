//! Failures to write or read a recording.

use std::fmt;

/// Failure to write or read a recording.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The file is not MCAP: its magic octets differ.
    #[error("this is not an MCAP file: it does not begin with the format's magic octets")]
    NotMcap,
    /// A chunk is compressed, with this method.
    #[error(
        "its chunks are compressed with {0:?}, and only uncompressed ones are read: \
         `mcap compress --compression none` of the MCAP tools converts it"
    )]
    Compressed(String),
    /// A record is larger than [`PlaybackLimits::record`](crate::recording::PlaybackLimits::record) allows.
    #[error("a record of {octets} octets is larger than the limit of {limit}")]
    RecordTooLarge {
        /// Size of the record in octets.
        octets: u64,
        /// The limit.
        limit: usize,
    },
    /// Topics and schemas together exceed [`PlaybackLimits::descriptions`](crate::recording::PlaybackLimits::descriptions).
    #[error("its topics and schemas are larger than the limit of {limit} octets")]
    DescriptionsTooLarge {
        /// The limit in octets.
        limit: usize,
    },
    /// A message belongs to a topic that was not declared before it.
    #[error("a message belongs to channel {0}, which no record before it declares")]
    UnknownTopic(u16),
    /// A topic has a schema that was not declared before it.
    #[error("topic {topic:?} has schema {schema}, which no record before it declares")]
    UnknownSchema {
        /// The topic.
        topic: String,
        /// Number of the schema.
        schema: u16,
    },
    /// A message is not plain CDR with a header.
    #[error(fmt = not_plain_cdr)]
    NotPlainCdr {
        /// Representation in the header; `None`: the message is shorter than the header.
        representation: Option<u16>,
    },
    /// A record of this kind is too short for its fields, or has text that is not UTF-8.
    #[error("a record of kind {0:#04x} is shorter than its parts, or has text that is not UTF-8")]
    BadRecord(u8),
    /// The lengths in a chunk are inconsistent.
    #[error("the lengths within a chunk contradict each other")]
    BadChunk,
    /// A chunk holds a record of a kind that is not allowed there.
    #[error("a chunk holds a record of kind {0:#04x}, which has no place there")]
    ForeignInChunk(u8),
    /// The checksum of a chunk differs: its octets were changed.
    #[error("a chunk was damaged: its checksum (CRC-32) differs")]
    Damaged,
    /// Reading or writing the file failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The recording has more topics or schemas than the format allows.
    #[error("the format of recordings does not allow it: {0}")]
    Format(#[source] mcap::McapError),
}

fn not_plain_cdr(representation: &Option<u16>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match representation {
        Some(representation) => write!(
            f,
            "the message has representation {representation:#06x}, and only plain CDR (0x0000, 0x0001) is read"
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
