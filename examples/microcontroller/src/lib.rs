//! A sensor on a microcontroller that calls a CORBA object: no operating system, no threads, no sockets.
//!
//! It needs an allocator and a [`Line`] that carries octets: a UART, a USB endpoint, a small TCP stack. To a gateway,
//! or a server that listens on the line, it is an ordinary GIOP 1.2 client.
//!
//! The operation is marshalled by hand, since the IDL compiler's code requires the whole ORB:
//!
//! ```text
//! unsigned long report(in string sensor, in float celsius) raises (UnknownSensor);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use core::fmt;

use oxorb_cdr::{ByteOrder, Decode as _, Dialect, Encoder};
use oxorb_giop::{
    Inbox, Message, MessageLimits, ReplyStatus, RequestHeader, Response, TargetAddress, Violation,
    begin_request, finish,
};
use oxorb_object::{IiopProfile, SystemException, Version};

/// Bidirectional line that carries octets in order.
pub trait Line {
    /// Error of the line.
    type Error: fmt::Debug;

    /// Sends all octets.
    fn send(&mut self, octets: &[u8]) -> Result<(), Self::Error>;

    /// Waits for octets and appends between one and `most` of them to the buffer. A line that times out returns its own
    /// error.
    fn receive(&mut self, buffer: &mut Vec<u8>, most: usize) -> Result<(), Self::Error>;
}

/// Object `weather::Station` at the other end of a line.
pub struct Station<L> {
    line: L,
    key: Vec<u8>,
    inbox: Inbox,
    /// Memory of the last message, for the next one.
    buffer: Vec<u8>,
    calls: u32,
}

/// Reason why a call failed.
#[derive(Debug)]
pub enum Failure<E> {
    /// Failure of the line.
    Line(E),
    /// Server data that is no valid GIOP.
    Violation(Violation),
    /// Exception `UnknownSensor` from the server.
    UnknownSensor,
    /// System exception from the server.
    System(SystemException),
    /// Reply status that this client does not support, such as LOCATION_FORWARD.
    Status(ReplyStatus),
    /// End of the connection by the server.
    Closed,
}

impl<L: Line> Station<L> {
    /// Returns the object of a profile, called over a line that is connected to the object's server. Messages are
    /// limited to 4 KiB.
    pub fn new(line: L, profile: &IiopProfile) -> Self {
        let limits = MessageLimits { max_message: 4096, ..MessageLimits::default() };
        Station {
            line,
            key: profile.object_key.clone(),
            inbox: Inbox::new(&limits),
            buffer: Vec::new(),
            calls: 0,
        }
    }

    /// Reports a measurement in degrees Celsius; returns the number of seconds until the next one is due. Allocates
    /// nothing once the buffers have reached their size.
    ///
    /// # Errors
    /// [`Failure`]. After one of the line or a violation of GIOP, the line has to be reopened.
    pub fn report(&mut self, sensor: &str, celsius: f32) -> Result<u32, Failure<L::Error>> {
        self.calls += 1;
        self.request(sensor, celsius)?;
        loop {
            if self.inbox.poll()?.is_some() {
                match self.inbox.frame().message()? {
                    Message::Reply(reply) if reply.id == self.calls => {
                        return self.outcome(reply.status, reply.body);
                    }
                    Message::CloseConnection => return Err(Failure::Closed),
                    // Reply to an earlier call whose line failed.
                    _ => continue,
                }
            }
            let (buffer, most) = self.inbox.room();
            self.line.receive(buffer, most).map_err(Failure::Line)?;
        }
    }

    fn request(&mut self, sensor: &str, celsius: f32) -> Result<(), Failure<L::Error>> {
        let buffer = core::mem::take(&mut self.buffer);
        let mut e = Encoder::new(buffer, ByteOrder::NATIVE, Dialect::GIOP_1_2);
        let header = RequestHeader {
            id: self.calls,
            response: Response::WithTarget,
            key: TargetAddress::Key(&self.key),
            operation: "report",
            contexts: &[],
            terms: None,
            alias: None,
        };
        let begun = begin_request(&mut e, Version::V1_2, &header);
        e.string(sensor).map_err(Violation::from)?;
        e.float(celsius);
        finish(&mut e, begun)?;
        let message = e.finish();
        let sent = self.line.send(message.contiguous());
        self.buffer = message.into_buffer();
        sent.map_err(Failure::Line)
    }

    fn outcome(&self, status: ReplyStatus, body: usize) -> Result<u32, Failure<L::Error>> {
        let mut d = self.inbox.frame().decoder_at(Dialect::GIOP_1_2, body);
        match status {
            ReplyStatus::NO_EXCEPTION => Ok(d.ulong().map_err(Violation::from)?),
            ReplyStatus::USER_EXCEPTION => Err(Failure::UnknownSensor),
            ReplyStatus::SYSTEM_EXCEPTION => {
                let raised = SystemException::decode(&mut d).map_err(Violation::from)?;
                Err(Failure::System(raised))
            }
            other => Err(Failure::Status(other)),
        }
    }
}

impl<E> From<Violation> for Failure<E> {
    fn from(violation: Violation) -> Self {
        Failure::Violation(violation)
    }
}
