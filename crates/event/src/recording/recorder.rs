//! Writer of recordings.

use std::collections::HashMap;
use std::fmt;
use std::io::{Seek, Write};

use mcap::records::MessageHeader;
use mcap::{McapError, WriteOptions, Writer};

use crate::recording::playback::{ENTRY, PlaybackLimits};
use crate::recording::{RecordingError, Topic};

/// Writer of a recording. Messages are collected in chunks of 1 MiB, with indexes for seeking.
///
/// Messages before a [`flush`](Self::flush) survive the end of the process: [`Playback`](crate::recording::Playback)
/// reads an unfinished file up to its end. A file without [`finish`](Self::finish) has no indexes.
///
/// Each message is copied once, into the chunk. Not for real-time threads, since a full chunk is written to the file.
pub struct Recorder<W: Write + Seek> {
    writer: Writer<W>,
    topics: HashMap<Topic, u16>,
    /// Number of messages written so far, by topic.
    sequences: Vec<u32>,
    /// Highest number of a schema so far.
    schemas: u16,
    /// Size in octets of all topics and schemas, as counted by a reader.
    described: usize,
    message: Vec<u8>,
}

impl<W: Write + Seek> Recorder<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// [`RecordingError::Io`].
    pub fn new(file: W) -> Result<Self, RecordingError> {
        let options = WriteOptions::new()
            .library(concat!("oxorb/", env!("CARGO_PKG_VERSION")))
            // A chunk is written only when it is full, so that a file that ends early ends with a chunk of known
            // length.
            .disable_seeking(true);
        let mut writer = options.create(file)?;
        writer.flush()?;
        Ok(Recorder {
            writer,
            topics: HashMap::new(),
            sequences: Vec::new(),
            schemas: 0,
            described: 0,
            message: Vec::new(),
        })
    }

    /// Declares a topic and returns its number, for [`write`](Self::write). An equal topic declared before keeps its
    /// number.
    ///
    /// # Errors
    /// [`RecordingError::Format`] beyond 65,534 topics; [`RecordingError::DescriptionsTooLarge`] beyond the limit of a reader with
    /// default [`PlaybackLimits`]. Topics declared before remain usable after either. [`RecordingError::Io`].
    pub fn topic(&mut self, topic: &Topic) -> Result<u16, RecordingError> {
        if let Some(id) = self.topics.get(topic) {
            return Ok(*id);
        }
        if self.topics.len() >= MOST_TOPICS {
            return Err(McapError::TooManyChannels.into());
        }
        let of_schema = topic
            .schema
            .as_deref()
            .map_or(0, |schema| schema.name.len() + schema.encoding.len() + schema.data.len());
        let of_topic = octets_of(topic);
        let limit = PlaybackLimits::default().descriptions;
        if self.described + of_schema + of_topic > limit {
            return Err(RecordingError::DescriptionsTooLarge { limit });
        }
        let schema = match topic.schema.as_deref() {
            None => 0,
            Some(schema) => self.writer.add_schema(&schema.name, &schema.encoding, &schema.data)?,
        };
        if schema > self.schemas {
            self.schemas = schema;
            self.described += of_schema;
        }
        let id = self.writer.add_channel(schema, &topic.name, &topic.encoding, &topic.metadata)?;
        self.sequences.resize(usize::from(id) + 1, 0);
        self.described += of_topic;
        self.topics.insert(topic.clone(), id);
        Ok(id)
    }

    /// Returns the number of topics declared so far.
    pub fn topics(&self) -> usize {
        self.topics.len()
    }

    /// Writes a message consisting of the concatenated `parts`. Times are nanoseconds since 1970: `log_time` is that of
    /// recording, `publish_time` that of sending.
    ///
    /// # Errors
    /// [`RecordingError::UnknownTopic`] for a number that [`topic`](Self::topic) did not return; [`RecordingError::Io`], after which
    /// nothing more is written.
    pub fn write(
        &mut self,
        topic: u16,
        log_time: u64,
        publish_time: u64,
        parts: &[&[u8]],
    ) -> Result<(), RecordingError> {
        let sequence = self.sequences.get_mut(usize::from(topic));
        let sequence = sequence.ok_or(RecordingError::UnknownTopic(topic))?;
        self.message.clear();
        for part in parts {
            self.message.extend_from_slice(part);
        }
        let header =
            MessageHeader { channel_id: topic, sequence: *sequence, log_time, publish_time };
        self.writer.write_to_known_channel(&header, &self.message)?;
        *sequence = sequence.wrapping_add(1);
        Ok(())
    }

    /// Writes all messages so far to the file. This ends the chunk, so more than a few calls per second waste space.
    ///
    /// # Errors
    /// [`RecordingError::Io`].
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        Ok(self.writer.flush()?)
    }

    /// Writes the indexes and returns the file.
    ///
    /// # Errors
    /// [`RecordingError::Io`].
    pub fn finish(mut self) -> Result<W, RecordingError> {
        self.writer.finish()?;
        let mut file = self.writer.into_inner();
        file.flush()?;
        Ok(file)
    }
}

/// Maximum number of topics of a file: their numbers have 16 bits, and the library's counter passes the last one.
const MOST_TOPICS: usize = u16::MAX as usize - 1;

/// Returns the octets of a topic, as [`Playback`](crate::recording::Playback) counts them.
fn octets_of(topic: &Topic) -> usize {
    let metadata = topic.metadata.iter();
    let metadata = metadata.map(|(name, value)| ENTRY + name.len() + value.len());
    metadata.sum::<usize>() + topic.name.len() + topic.encoding.len()
}

impl<W: Write + Seek> fmt::Debug for Recorder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("topics", &self.topics.len()).finish_non_exhaustive()
    }
}
