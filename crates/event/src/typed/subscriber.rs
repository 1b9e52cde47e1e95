//! Subscribers, which receive values of one type from a queue, by an iterator, as a stream, or by a callback.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use oxorb::{SystemException, cdr};
use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use super::join::{Channel, ConsumerEnd, JoinError};
use crate::rtec_event_comm::{Event, EventHeader, PushConsumer};
use crate::{Filter, asks_for};

/// A value, with the header of the event that contained it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample<T> {
    /// Type, source and times.
    pub header: EventHeader,
    /// Value that the payload contained.
    pub value: T,
}

/// A consumer of values of an IDL type, with a bounded queue.
///
/// It returns values one by one, as a blocking iterator, or as a `futures::Stream`. Dropping it disconnects it.
/// Payloads are decoded in place, in the thread that pushes. A payload that is not a `T` is counted and skipped.
///
/// ```
/// use oxorb_event::{ChannelOptions, EventChannel, Publisher, Subscriber};
///
/// let channel = EventChannel::new(ChannelOptions::default());
/// let names = Subscriber::<String>::new(&channel, "name")?;
/// let gate = Publisher::<String>::new(&channel, "name", "gate 4")?;
/// gate.publish(&"Ada".to_owned())?;
/// gate.publish(&"Grace".to_owned())?;
/// channel.destroy(); // no more
/// let came: Vec<String> = names.iter().map(|sample| sample.value).collect();
/// assert_eq!(came, ["Ada", "Grace"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Subscriber<T> {
    queue: Arc<Queue<T>>,
    end: Box<dyn ConsumerEnd>,
}

/// Size and policy of a subscriber's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubscriberOptions {
    /// Maximum number of waiting values, at least 1. Default 1,024.
    pub capacity: usize,
    /// Overflow policy of the queue. By default the oldest value is dropped.
    pub when_full: WhenFull,
}

impl Default for SubscriberOptions {
    fn default() -> Self {
        SubscriberOptions { capacity: 1_024, when_full: WhenFull::default() }
    }
}

/// The value that is dropped if the queue of a subscriber is full. The channel never waits for space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The value that has waited longest is dropped.
    #[default]
    DropOldest,
    /// The new value is dropped.
    DropNewest,
}

impl<T> Subscriber<T>
where
    T: for<'p> cdr::Decode<'p> + Send + 'static,
{
    /// Joins a channel for events with a named type, from any source.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn new(
        channel: &(impl Channel + ?Sized),
        event_type: &str,
    ) -> Result<Subscriber<T>, JoinError> {
        let filter = channel.names().filter(event_type, "")?;
        Subscriber::filtered(channel, &filter, SubscriberOptions::default())
    }

    /// Joins a channel for the events that a filter accepts.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn filtered(
        channel: &(impl Channel + ?Sized),
        filter: &Filter,
        options: SubscriberOptions,
    ) -> Result<Subscriber<T>, JoinError> {
        let queue = Arc::new(Queue::new(options));
        let end = channel.join_consumer(queue.clone(), &asks_for(filter))?;
        Ok(Subscriber { queue, end })
    }
}

impl<T> Subscriber<T> {
    /// Returns the next waiting value, if there is one.
    pub fn try_recv(&self) -> Option<Sample<T>> {
        self.queue.lock().waiting.pop_front()
    }

    /// Returns the next value; `None` if no value arrived in time or no further value can arrive.
    pub fn recv_timeout(&self, limit: Duration) -> Option<Sample<T>> {
        let none = |state: &mut State<T>| state.waiting.is_empty() && !state.ended;
        let (mut state, _) = self.queue.changed.wait_timeout_while(self.queue.lock(), limit, none);
        state.waiting.pop_front()
    }

    /// Returns an iterator that waits for values. It ends when the connection to the channel ends.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// Returns the number of values that were dropped because the queue was full.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Relaxed)
    }

    /// Returns the number of payloads that were not a `T`.
    pub fn undecodable(&self) -> u64 {
        self.queue.undecodable.load(Relaxed)
    }

    /// Suspends delivery in the channel. Events that are pushed meanwhile are lost for this subscriber.
    ///
    /// # Errors
    /// The remote channel cannot be reached.
    pub fn suspend(&self) -> Result<(), SystemException> {
        self.end.suspend(true)
    }

    /// Resumes delivery.
    ///
    /// # Errors
    /// The remote channel cannot be reached.
    pub fn resume(&self) -> Result<(), SystemException> {
        self.end.suspend(false)
    }
}

/// Blocking iterator over the values of a [`Subscriber`].
#[derive(Debug)]
pub struct Iter<'s, T>(&'s Subscriber<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = Sample<T>;

    fn next(&mut self) -> Option<Sample<T>> {
        let queue = &self.0.queue;
        let none = |state: &mut State<T>| state.waiting.is_empty() && !state.ended;
        queue.changed.wait_while(queue.lock(), none).waiting.pop_front()
    }
}

impl<'s, T> IntoIterator for &'s Subscriber<T> {
    type Item = Sample<T>;
    type IntoIter = Iter<'s, T>;

    fn into_iter(self) -> Iter<'s, T> {
        self.iter()
    }
}

impl<T> futures_core::Stream for Subscriber<T> {
    type Item = Sample<T>;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Sample<T>>> {
        let mut state = self.queue.lock();
        match state.waiting.pop_front() {
            None if !state.ended => {
                state.waker = Some(task.waker().clone());
                Poll::Pending
            }
            next => Poll::Ready(next),
        }
    }
}

/// A callback that receives values. Dropping it disconnects it.
pub struct Subscription {
    end: Box<dyn ConsumerEnd>,
    undecodable: Arc<AtomicU64>,
}

impl Subscription {
    /// Joins a channel for the events that a filter accepts, and calls `callback` with each value, in the thread that
    /// delivers the event. The callback must return quickly. `T` may borrow from the payload. A payload that is not a
    /// `T` is counted and skipped.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use oxorb_event::{ChannelOptions, Channel as _, EventChannel, Publisher, Subscription};
    ///
    /// let channel = EventChannel::new(ChannelOptions::default());
    /// let (tell, told) = mpsc::channel();
    /// let levels = channel.names().filter("level", "")?;
    /// let subscription = Subscription::new::<f64>(&channel, &levels, move |header, level| {
    ///     tell.send((header.source, level)).unwrap();
    /// })?;
    /// let tank = Publisher::<f64>::new(&channel, "level", "tank 1")?;
    /// tank.publish(&0.75)?;
    /// assert_eq!(told.recv()?.1, 0.75);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn new<T>(
        channel: &(impl Channel + ?Sized),
        filter: &Filter,
        callback: impl Fn(&EventHeader, T) + Send + Sync + 'static,
    ) -> Result<Subscription, JoinError>
    where
        T: for<'p> cdr::Decode<'p> + 'static,
    {
        let undecodable = Arc::new(AtomicU64::new(0));
        let wrong = Arc::clone(&undecodable);
        let take = move |event: &Event| match super::decode(&event.data.payload) {
            Ok(value) => callback(&event.header, value),
            Err(_) => drop(wrong.fetch_add(1, Relaxed)),
        };
        let end = channel.join_consumer(Arc::new(Callback(take)), &asks_for(filter))?;
        Ok(Subscription { end, undecodable })
    }

    /// Returns the number of payloads that were not a `T`.
    pub fn undecodable(&self) -> u64 {
        self.undecodable.load(Relaxed)
    }

    /// Suspends or resumes delivery in the channel.
    ///
    /// # Errors
    /// The remote channel cannot be reached.
    pub fn suspend(&self, suspended: bool) -> Result<(), SystemException> {
        self.end.suspend(suspended)
    }
}

struct Callback<F>(F);

impl<F: Fn(&Event) + Send + Sync + 'static> PushConsumer for Callback<F> {
    fn push(&self, events: &[Event]) {
        events.iter().for_each(&self.0);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

struct Queue<T> {
    options: SubscriberOptions,
    state: Mutex<State<T>>,
    changed: Condvar,
    dropped: AtomicU64,
    undecodable: AtomicU64,
}

struct State<T> {
    waiting: VecDeque<Sample<T>>,
    /// Whether the channel has ended the connection.
    ended: bool,
    /// Waker of the task that waits for the stream.
    waker: Option<Waker>,
}

impl<T> Queue<T> {
    fn new(options: SubscriberOptions) -> Queue<T> {
        Queue {
            options,
            state: Mutex::new(State {
                waiting: VecDeque::with_capacity(options.capacity.clamp(1, 1_024)),
                ended: false,
                waker: None,
            }),
            changed: Condvar::new(),
            dropped: AtomicU64::new(0),
            undecodable: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock()
    }

    fn wake(&self, mut state: MutexGuard<'_, State<T>>) {
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> PushConsumer for Queue<T>
where
    T: for<'p> cdr::Decode<'p> + Send + 'static,
{
    fn push(&self, events: &[Event]) {
        for event in events {
            let Ok(value) = super::decode(&event.data.payload) else {
                self.undecodable.fetch_add(1, Relaxed);
                continue;
            };
            let header = event.header;
            let mut state = self.lock();
            if state.waiting.len() >= self.options.capacity.max(1) {
                self.dropped.fetch_add(1, Relaxed);
                match self.options.when_full {
                    WhenFull::DropNewest => continue,
                    WhenFull::DropOldest => drop(state.waiting.pop_front()),
                }
            }
            state.waiting.push_back(Sample { header, value });
            self.wake(state);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        let mut state = self.lock();
        state.ended = true;
        self.wake(state);
        Ok(())
    }
}

impl<T> fmt::Debug for Subscriber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("waiting", &self.queue.lock().waiting.len())
            .field("dropped", &self.dropped())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("undecodable", &self.undecodable)
            .finish_non_exhaustive()
    }
}
