//! Streams of audio and video: a frame is a oneway request with a timestamp and a sequence number,
//! as in RTP.
//!
//! ```text
//! application -- send, never waits --> Sender: bounded queue, pace --oneway frame--> Receiver --> application
//!                                        ^------------------oneway arrived: loss, jitter-----------'
//! ```
//!
//! A [`Sender`] sends to any reference of a [`Sink`](streams::Sink), over any protocol. Over
//! datagrams (`diop://`) a lost frame does not delay the following ones, which suits streams; over
//! TCP the frames behind a lost segment wait for it, and a receiver that stalls fills the sender's
//! queue. The application never waits: [`Sender::send`] copies the frame into preallocated memory,
//! or drops a frame and reports it.
//!
//! A [`Receiver`] passes frames to the application as they arrive, and reports the reception to
//! each sender: frames lost, late and duplicated, and the jitter of RFC 3550 ([`Meter`]).
//!
//! ```
//! use std::sync::{Arc, mpsc};
//! use std::time::Duration;
//! use oxorb::{Interface, Orb};
//! use oxorb_stream::{Receiver, ReceiverOptions, Sender, SenderOptions};
//!
//! let orb = Orb::builder().listen("diop://127.0.0.1:0").build()?;
//! let (show, shown) = mpsc::channel();
//! let receiver = Receiver::start(ReceiverOptions::default(), move |frame| {
//!     let _ = show.send(frame.data.to_vec());
//! })?;
//! let sink = orb.root_poa().activate(receiver.sink())?;
//!
//! let sender = Sender::start(&orb, &sink, SenderOptions::default())?;
//! sender.send(Duration::from_millis(40), b"a picture")?;
//! assert_eq!(shown.recv_timeout(Duration::from_secs(5))?, b"a picture");
//! # sender.stop(Duration::from_secs(1));
//! # orb.shutdown(true)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod clock;
mod meter;
mod pace;
mod queue;
mod receiver;
mod reports;
mod sender;
mod table;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("stream");
}

pub use idl::ox_orb::streams;
pub use meter::{Meter, Reception};
pub use pace::Pace;
pub use queue::{Sent, TooLarge};
pub use receiver::{Frame, FrameSink, Receiver, ReceiverOptions, ReceiverStatistics};
pub use sender::{Feedback, Sender, SenderOptions, SenderStatistics, StartError};

/// The page about streams, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/streams.md")]
struct StreamsPage;
