//! Writer of recordings.

use std::collections::HashMap;
use std::fmt;
use std::io::{Seek, Write};

use mcap::records::MessageHeader;
use mcap::{McapError, WriteOptions, Writer};

use crate::recording::playback::{ENTRY, PlaybackLimits};
use crate::recording::{RecordingError, Topic};

/// Writer of a recording. It collects messages in chunks of 1 MiB, and writes indexes that permit seeking.
///
/// Messages that were written before a [`flush`](Self::flush) survive the end of the process, because
/// [`Playback`](crate::recording::Playback) can read an unfinished file. A file without a [`finish`](Self::finish) has
/// no indexes.
///
/// Each message is copied once, into the chunk. Real-time threads should not write messages, because a full chunk is
/// written to the file.
pub struct Recorder<W: Write + Seek> {
    writer: Writer<W>,
    topics: HashMap<Topic, u16>,
    /// Number of messages that have been written, by topic.
    sequences: Vec<u32>,
    /// Number of the last schema.
    schemas: u16,
    /// Size in octets of all topics and schemas, counted in the same way as by a reader.
    described: usize,
    message: Vec<u8>,
}

impl<W: Write + Seek> Recorder<W> {
    /// Starts a recording.
    ///
    /// # Errors
    /// [`RecordingError::Io`].
    pub fn new(file: W) -> Result<Self, RecordingError> {
        let options = WriteOptions::new()
            .library(concat!("oxorb/", env!("CARGO_PKG_VERSION")))
            // Write only complete chunks, whose length is known, so that a file that ends early can be read up to its
            // last chunk.
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

    /// Declares a topic and returns its number, for [`write`](Self::write). If an equal topic was declared before,
    /// returns the same number.
    ///
    /// # Errors
    /// [`RecordingError::Format`] beyond 65,534 topics; [`RecordingError::DescriptionsTooLarge`] if a reader with
    /// default [`PlaybackLimits`] could not read the recording. In both cases, the topics declared before can still be
    /// used. [`RecordingError::Io`].
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

    /// Returns the number of topics that have been declared.
    pub fn topics(&self) -> usize {
        self.topics.len()
    }

    /// Writes a message, which is the concatenation of `parts`. `log_time` is the time of recording and `publish_time`
    /// that of sending, both in nanoseconds since 1970.
    ///
    /// # Errors
    /// [`RecordingError::UnknownTopic`] for a number that [`topic`](Self::topic) did not return;
    /// [`RecordingError::Io`], after which no further messages are written.
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

    /// Writes all messages to the file. This ends the current chunk, so more than a few calls per second waste space.
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

/// Maximum number of topics of a file. Topic numbers have 16 bits, and the library increments its counter beyond the
/// last number.
const MOST_TOPICS: usize = u16::MAX as usize - 1;

/// Returns the size in octets of a topic, counted in the same way as by [`Playback`](crate::recording::Playback).
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
