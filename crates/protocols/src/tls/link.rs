//! Links over TLS.

use std::io::{self, BufRead as _, IoSlice, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxorb_sys::socket;
use oxorb_sys::sync::{Mutex, MutexGuard};
use oxorb_transport::tcp::TcpLink;
use oxorb_transport::{Facts, Link, PeerId, Properties, RefusedConnection, WriteError};
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::ParsedCertificate;
use rustls::{Connection, Error};

use crate::tls::{SCHEME, words};

/// Buffer size of one system call while records are small: one of them and some more.
const SMALL: usize = 4 << 10;

/// Size of a record header, in octets; its last two are the length of the rest.
const HEADER: usize = 5;

/// Largest plain text of a record, in octets: a longer text fills this size in each record but the
/// last.
const FRAGMENT: usize = 16 << 10;

/// Buffer size of one system call if more octets arrived: the largest record.
const LARGE: usize = HEADER + FRAGMENT + 256;

/// Maximum number of octets encrypted before they are written: two of the largest records.
const BATCH: usize = 2 * FRAGMENT;

/// Maximum number of slices of a batch.
const BATCH_SLICES: usize = 16;

/// Maximum number of octets that a peer may send as records without content, such as session tickets, before the
/// content that follows. Rustls limits most kinds of them, but not tickets, which cost processor time.
const MAX_EMPTY: usize = 64 << 10;

/// TCP connection that carries TLS.
///
/// One thread may read while another writes: the lock is held while some records are decrypted or
/// encrypted, and never while the socket waits. A read is one system call if a message fits into
/// the received octets, and so is a write of up to 32 KiB. Rustls allocates for each record, in
/// both directions; the rest allocates nothing once buffers have grown.
///
/// Encrypted octets that could not be sent cannot be withdrawn: after a failed write, the link
/// writes no more, even if nothing was sent.
///
/// A peer that sends more than 64 KiB of records without content in a row, such as session tickets, is at fault, and
/// the next read fails.
pub struct TlsLink {
    tcp: TcpLink,
    side: Side,
    identity: PeerId,
    tls: Mutex<Connection>,
    /// State of the reading thread. Locked before `tls`.
    reading: Mutex<Reading>,
    /// State of the writing thread. Locked before `tls`.
    writing: Mutex<Writing>,
    closed: AtomicBool,
    deaf: AtomicBool,
    read_timeout: AtomicU64,
    write_timeout: AtomicU64,
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    /// Returns the word for the other end.
    pub(crate) fn peer(self) -> &'static str {
        match self {
            Self::Client => "server",
            Self::Server => "client",
        }
    }
}

struct Reading {
    /// Received octets not yet passed to TLS.
    octets: Vec<u8>,
    /// Buffer size of the next system call.
    piece: usize,
    /// Whether a record arrived after the handshake: the other end has accepted this one.
    heard: bool,
    /// Number of octets that were passed to TLS since the last content.
    empty: usize,
    ended: bool,
}

#[derive(Default)]
struct Writing {
    /// Encrypted octets not yet sent.
    octets: Vec<u8>,
    broken: bool,
}

/// Result of decrypting received octets.
enum Taken {
    Octets(usize),
    Nothing,
    End,
}

/// Result of [`TlsLink::look`].
enum Seen {
    Octets,
    Nothing,
    End,
}

const NO_TIMEOUT: u64 = u64::MAX;

impl TlsLink {
    pub(crate) fn new(tcp: TcpLink, tls: Connection, side: Side, identity: PeerId) -> Self {
        Self {
            tcp,
            side,
            identity,
            tls: Mutex::new(tls),
            reading: Mutex::new(Reading {
                octets: Vec::new(),
                piece: SMALL,
                heard: false,
                empty: 0,
                ended: false,
            }),
            writing: Mutex::default(),
            closed: AtomicBool::new(false),
            deaf: AtomicBool::new(false),
            read_timeout: AtomicU64::new(NO_TIMEOUT),
            write_timeout: AtomicU64::new(NO_TIMEOUT),
        }
    }

    /// Returns version and cipher suite, for users: `TLSv1_3, TLS13_AES_256_GCM_SHA384`.
    pub fn agreed(&self) -> String {
        let tls = self.tls();
        let version = tls.protocol_version();
        let version = version.map_or_else(String::new, |version| format!("{version:?}"));
        match tls.negotiated_cipher_suite() {
            Some(suite) => format!("{version}, {:?}", suite.suite()),
            None => version,
        }
    }

    /// Reports whether a session was resumed, so that no certificate was sent.
    pub fn was_resumed(&self) -> bool {
        self.tls().handshake_kind() == Some(rustls::HandshakeKind::Resumed)
    }

    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock()
    }

    fn take(&self, buffer: &mut Vec<u8>, max: usize, waits: bool) -> io::Result<usize> {
        if max == 0 || self.deaf.load(Ordering::Relaxed) {
            return Ok(0);
        }
        let mut reading = self.reading.lock();
        let (mut since, mut came_before) = (None, false);
        loop {
            match self.decrypt(&mut reading, buffer, max)? {
                Taken::Octets(octets) => return Ok(octets),
                Taken::End => return Ok(0),
                Taken::Nothing => {}
            }
            // The clock is read only if one system call was not enough.
            if came_before {
                since = since.or_else(|| Some(Instant::now()));
            }
            // A peer that sends a record octet by octet must not extend the time-out.
            if self.is_over(since, &self.read_timeout) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let Reading { octets, piece, .. } = &mut *reading;
            let came = match waits {
                true => self.tcp.read(octets, *piece)?,
                false => self.tcp.read_now(octets, *piece)?,
            };
            if came == 0 {
                // The stream has ended, with or without close_notify. A missing close_notify is no error, because each
                // message contains its own length.
                reading.ended = true;
                return Ok(0);
            }
            if came == *piece {
                *piece = LARGE;
            }
            came_before = waits;
        }
    }

    /// Reports whether a time-out has passed since a time.
    fn is_over(&self, since: Option<Instant>, timeout: &AtomicU64) -> bool {
        let limit = timeout.load(Ordering::Relaxed);
        let since = since.filter(|_| limit != NO_TIMEOUT);
        since.is_some_and(|since| since.elapsed() >= Duration::from_nanos(limit))
    }

    /// Appends at most `max` received octets to `buffer`; fewer only if no more arrived.
    fn decrypt(
        &self,
        reading: &mut Reading,
        buffer: &mut Vec<u8>,
        max: usize,
    ) -> io::Result<Taken> {
        let mut tls = self.tls();
        let (mut taken, mut used) = (0, 0);
        let end = loop {
            match tls.reader().fill_buf() {
                // The peer has sent close_notify.
                Ok([]) => break true,
                Ok(octets) => {
                    reading.empty = 0;
                    let count = octets.len().min(max - taken);
                    buffer.extend_from_slice(&octets[..count]);
                    tls.reader().consume(count);
                    taken += count;
                    if taken == max {
                        break false;
                    }
                    continue;
                }
                Err(_) => {}
            }
            if used == reading.octets.len() {
                break reading.ended;
            }
            match self.process(&mut tls, reading, used) {
                Ok(count) => used += count,
                // The octets before the fault are returned first. The next read reports the fault.
                Err(_) if taken > 0 => break false,
                Err(error) => {
                    drop(tls);
                    self.flush();
                    return Err(self.fault(&error, reading.heard));
                }
            }
        };
        reading.octets.drain(..used);
        let answers = tls.wants_write();
        drop(tls);
        if answers {
            self.flush();
        }
        Ok(match (taken, end) {
            (0, true) => Taken::End,
            (0, false) => Taken::Nothing,
            (octets, _) => Taken::Octets(octets),
        })
    }

    /// Passes the received octets from `at` on to TLS; returns the number of those that are done with: all after the
    /// end.
    fn process(
        &self,
        tls: &mut Connection,
        reading: &mut Reading,
        at: usize,
    ) -> Result<usize, Error> {
        if reading.empty > MAX_EMPTY {
            return Err(Error::General(format!(
                "the {} sent more than {MAX_EMPTY} octets of TLS records without content",
                self.side.peer()
            )));
        }
        let mut rest = &reading.octets[at..];
        let general = |error: io::Error| Error::General(error.to_string());
        let count = match tls.read_tls(&mut rest).map_err(general)? {
            0 => return Ok(reading.octets.len() - at),
            count => count,
        };
        tls.process_new_packets()?;
        reading.empty += count;
        reading.heard = true;
        Ok(count)
    }

    #[cold]
    fn fault(&self, error: &Error, heard: bool) -> io::Error {
        let why = words::why(error, self.side.peer());
        match error {
            // The server refused this client's part of the handshake, so it has processed nothing that this end has
            // sent since.
            Error::AlertReceived(alert)
                if self.side == Side::Client && !heard && words::is_refusal(*alert) =>
            {
                let peer = self.peer();
                RefusedConnection { peer, why }.into()
            }
            _ => io::Error::new(io::ErrorKind::InvalidData, why),
        }
    }

    /// Processes received octets without waiting, until it is known whether a read would return
    /// any.
    fn look(&self) -> io::Result<Seen> {
        let mut reading = match self.reading.try_lock() {
            Some(reading) => reading,
            // Another thread is reading, and will find the octets if there are any.
            None => return Ok(Seen::Nothing),
        };
        loop {
            if self.deaf.load(Ordering::Relaxed) {
                return Ok(Seen::End);
            }
            // `fill_buf` shows what is available without consuming it. An empty slice means the end of the stream.
            let mut tls = self.tls();
            match tls.reader().fill_buf() {
                Ok([]) => return Ok(Seen::End),
                Ok(_) => return Ok(Seen::Octets),
                Err(_) => {}
            }
            let mut used = 0;
            while used < reading.octets.len()
                && matches!(tls.reader().fill_buf(), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            {
                match self.process(&mut tls, &mut reading, used) {
                    Ok(count) => used += count,
                    // The next read will return this error.
                    Err(_) => return Ok(Seen::Octets),
                }
            }
            let answers = tls.wants_write();
            drop(tls);
            reading.octets.drain(..used);
            if answers {
                self.flush();
            }
            if used > 0 {
                continue;
            }
            if reading.ended {
                return Ok(Seen::End);
            }
            let Reading { octets, piece, .. } = &mut *reading;
            match self.tcp.read_now(octets, *piece) {
                Ok(0) => {
                    reading.ended = true;
                    return Ok(Seen::End);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Seen::Nothing);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends TLS's own records as far as there is space, unless another thread writes, which sends
    /// them first.
    #[cold]
    fn flush(&self) {
        let mut writing = match self.writing.try_lock() {
            Some(writing) => writing,
            None => return,
        };
        // After a record that was sent only in part, no other record may be sent.
        if writing.broken {
            return;
        }
        let mut tls = self.tls();
        while tls.wants_write() {
            if tls.write_tls(&mut writing.octets).is_err() {
                return;
            }
        }
        drop(tls);
        if let Some(fd) = self.tcp.poll_fd()
            && let Ok(sent) = socket::send_now(fd, &[IoSlice::new(&writing.octets)])
        {
            writing.octets.drain(..sent);
        }
    }

    /// Sends close_notify if possible without waiting.
    fn say_goodbye(&self) {
        if let Some(writing) = self.writing.try_lock()
            && !writing.broken
        {
            drop(writing);
            self.tls().send_close_notify();
            self.flush();
        }
    }
}

/// Returns how many octets of the `batch` that ends `records` the peer can decrypt after the first
/// `sent` octets of the records.
fn plain_octets(records: &[u8], sent: usize, batch: usize) -> usize {
    let (mut whole, mut all, mut at) = (0, 0, 0);
    while let Some(&[_, _, _, high, low]) = records.get(at..at + HEADER) {
        at += HEADER + usize::from(u16::from_be_bytes([high, low]));
        all += 1;
        whole += usize::from(at <= sent);
    }
    // Records that TLS itself had queued precede those of the batch.
    let before = all - batch.div_ceil(FRAGMENT).min(all);
    batch.min(whole.saturating_sub(before) * FRAGMENT)
}

impl Link for TlsLink {
    fn read(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.take(buffer, max, true)
    }

    fn read_now(&self, buffer: &mut Vec<u8>, max: usize) -> io::Result<usize> {
        self.take(buffer, max, false)
    }

    fn write(&self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let mut left: usize = slices.iter().map(|slice| slice.len()).sum();
        if left == 0 {
            return Ok(());
        }
        let mut writing = self.writing.lock();
        if writing.broken || self.closed.load(Ordering::Relaxed) {
            return Err(WriteError { written: 0, error: io::ErrorKind::BrokenPipe.into() });
        }
        let (mut rest, mut written, mut since) = (slices, 0, None);
        loop {
            let (batch, sent) = match self.encrypt(rest, &mut writing.octets) {
                Ok(batch) => (batch, self.tcp.write(&mut [IoSlice::new(&writing.octets)])),
                Err(error) => (0, Err(WriteError { written: 0, error })),
            };
            if let Err(failed) = sent {
                writing.broken = true;
                written += plain_octets(&writing.octets, failed.written, batch);
                // The peer cannot decrypt a record that was sent only in part. It counts as one octet nevertheless,
                // because 0 would allow the caller to use the link again.
                let some = usize::from(failed.written > 0);
                return Err(WriteError { written: written.max(some), error: failed.error });
            }
            writing.octets.clear();
            written += batch;
            left -= batch;
            if left == 0 {
                return Ok(());
            }
            IoSlice::advance_slices(&mut rest, batch);
            let since = *since.get_or_insert_with(Instant::now);
            if self.is_over(Some(since), &self.write_timeout) {
                writing.broken = true;
                return Err(WriteError { written, error: io::ErrorKind::TimedOut.into() });
            }
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.read_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        self.tcp.set_read_timeout(timeout)
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.write_timeout.store(nanoseconds(timeout), Ordering::Relaxed);
        self.tcp.set_write_timeout(timeout)
    }

    fn close(&self) {
        self.deaf.store(true, Ordering::Relaxed);
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.say_goodbye();
        }
        self.tcp.close();
    }

    fn close_read(&self) {
        self.deaf.store(true, Ordering::Relaxed);
        self.tcp.close_read();
    }

    fn close_write(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.say_goodbye();
        }
        self.tcp.close_write();
    }

    fn is_dead(&self) -> bool {
        !matches!(self.look(), Ok(Seen::Octets | Seen::Nothing))
    }

    fn has_input(&self) -> io::Result<bool> {
        Ok(!matches!(self.look()?, Seen::Nothing))
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.tcp.poll_fd()
    }

    fn pending(&self) -> bool {
        let Some(reading) = self.reading.try_lock() else {
            return false;
        };
        !reading.octets.is_empty() || self.tls().reader().fill_buf().is_ok()
    }

    fn is_protected(&self) -> bool {
        true
    }

    fn is_certified(&self, host: &str) -> bool {
        let tls = self.tls();
        let shown = tls.peer_certificates().and_then(|all| all.first());
        let parsed = shown.and_then(|shown| ParsedCertificate::try_from(shown).ok());
        let host = host.split('%').next().unwrap_or(host);
        parsed
            .zip(ServerName::try_from(host).ok())
            .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn peer(&self) -> String {
        format!("{SCHEME}:{}", self.tcp.peer())
    }

    fn identity(&self) -> PeerId {
        self.identity.clone()
    }

    fn apply(&self, properties: &Properties) -> io::Result<()> {
        self.tcp.apply(properties)
    }

    fn local(&self) -> String {
        format!("{SCHEME}:{}", self.tcp.local())
    }
}

impl TlsLink {
    /// Encrypts some of the slices after the queued records; returns the number of octets.
    fn encrypt(&self, slices: &[IoSlice<'_>], octets: &mut Vec<u8>) -> io::Result<usize> {
        let mut batch = [IoSlice::new(&[]); BATCH_SLICES];
        let (mut room, mut count) = (BATCH, 0);
        for (place, slice) in batch.iter_mut().zip(slices) {
            let part = slice.len().min(room);
            *place = IoSlice::new(&slice[..part]);
            count += 1;
            room -= part;
            if room == 0 {
                break;
            }
        }
        let mut tls = self.tls();
        let taken = tls.writer().write_vectored(&batch[..count])?;
        while tls.wants_write() {
            tls.write_tls(octets)?;
        }
        Ok(taken)
    }
}

/// Sends close_notify, unless the link was closed.
impl Drop for TlsLink {
    fn drop(&mut self) {
        if !self.closed.load(Ordering::Relaxed) {
            self.say_goodbye();
        }
    }
}

fn nanoseconds(timeout: Option<Duration>) -> u64 {
    timeout.map_or(NO_TIMEOUT, |time| u64::try_from(time.as_nanos()).unwrap_or(NO_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a record with `length` octets of content.
    fn record(length: u16) -> Vec<u8> {
        let mut octets = vec![0x17, 3, 3];
        octets.extend(length.to_be_bytes());
        octets.resize(HEADER + usize::from(length), 0);
        octets
    }

    #[test]
    fn whole_records_are_counted_as_what_they_hold() {
        // The first record is one that TLS itself had queued. The other two are a batch.
        let records = [record(26), record(16_401), record(1_017)].concat();
        let batch = FRAGMENT + 1_000;
        let alert = HEADER + 26;
        let first = alert + HEADER + 16_401;
        for (sent, plain) in [
            (0, 0),
            (alert, 0),
            (first - 1, 0),
            (first, FRAGMENT),
            (records.len() - 1, FRAGMENT),
            (records.len(), batch),
        ] {
            assert_eq!(plain_octets(&records, sent, batch), plain, "{sent} sent");
        }
    }
}
