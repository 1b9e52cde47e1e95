//! Shuttle's channels, whose waits with a time limit may end at any point.

use std::time::Duration;

use shuttle::sync::mpsc::{self, Iter, TryRecvError};
pub(crate) use shuttle::sync::mpsc::{RecvError, RecvTimeoutError, SendError, Sender, SyncSender};

pub(crate) struct Receiver<T>(mpsc::Receiver<T>);

pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::channel();
    (sender, Receiver(receiver))
}

pub(crate) fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::sync_channel(bound);
    (sender, Receiver(receiver))
}

impl<T> Receiver<T> {
    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        self.0.recv()
    }

    pub(crate) fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        let received = super::wait_for(limit, || match self.0.try_recv() {
            Ok(value) => Some(Ok(value)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(RecvTimeoutError::Disconnected)),
        });
        received.unwrap_or(Err(RecvTimeoutError::Timeout))
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
