//! Recordings: MCAP files that contain messages and their schemas, in a format that existing viewers open
//! (<https://mcap.dev/spec>).
//!
//! | to | see |
//! |---|---|
//! | write a recording | [`Recorder`] |
//! | read one that is complete or cut off | [`Playback`] |
//! | add the byte order to CDR, as viewers expect it | [`cdr_header`], [`split_cdr`] |
//!
//! Schemas are in OMG IDL (`omgidl`, with names as in IDL), and messages are in CDR (`cdr`). Foxglove and PlotJuggler
//! can read them. The crate `mcap`, by the authors of the format, writes recordings, without compression. This module
//! has its own reader, because a file may come from an untrusted source.
//!
//! ```
//! use oxorb_event::recording::{CDR, Ending, Playback, Recorder, Schema, Topic, cdr_header};
//!
//! let mut recorder = Recorder::new(std::io::Cursor::new(Vec::new()))?;
//! let idl = "struct Level { long value; };";
//! let channel = recorder.topic(&Topic {
//!     name: "/tank".to_owned(),
//!     encoding: CDR.to_owned(),
//!     schema: Some(Schema::idl("Level", idl)),
//!     ..Topic::default()
//! })?;
//! let value = 7i32.to_le_bytes();
//! recorder.write(channel, 1_000, 900, &[&cdr_header(true), &value])?;
//! let file = recorder.finish()?.into_inner();
//!
//! let mut playback = Playback::new(file.as_slice())?;
//! let message = playback.next_message()?.expect("one was written");
//! assert_eq!(message.topic.schema.as_ref().unwrap().text(), Some(idl));
//! assert_eq!((message.log_time, message.publish_time), (1_000, 900));
//! assert_eq!(message.data, [0, 1, 0, 0, 7, 0, 0, 0]);
//! assert!(playback.next_message()?.is_none());
//! assert_eq!(playback.ending(), Some(&Ending::Complete));
//! # Ok::<(), oxorb_event::recording::RecordingError>(())
//! ```

mod cdr;
mod error;
mod frames;
#[doc(hidden)]
pub mod fuzz;
mod playback;
mod recorder;
mod records;
mod topic;

pub use cdr::{CDR, cdr_header, split_cdr};
pub use error::RecordingError;
pub use playback::{Ending, Message, Playback, PlaybackLimits};
pub use recorder::Recorder;
pub use topic::{OMG_IDL, Schema, Topic};
