//! Values of IDL types instead of octets.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use futures_core::Stream;
use oxorb_event::rtec_base::DependencyInfo;
use oxorb_event::{
    Channel as _, ChannelOptions, EventChannel, Filter, Publisher, Subscriber, SubscriberOptions,
    Subscription, WhenFull,
};

fn channel() -> EventChannel {
    EventChannel::new(ChannelOptions::default())
}

#[test]
fn a_structure_comes_as_it_went() {
    let channel = channel();
    let subscriber = Subscriber::<DependencyInfo>::new(&channel, "dependency").unwrap();
    let publisher = Publisher::<DependencyInfo>::new(&channel, "dependency", "test").unwrap();
    let value = DependencyInfo { number_of_calls: 7, rt_info: 3, ..DependencyInfo::default() };
    publisher.publish(&value).unwrap();
    let sample = subscriber.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!(sample.value, value);
    assert!(sample.header.creation_time > 0);
    let source = channel.names().source("test").unwrap();
    assert_eq!(sample.header.source, source);
}

#[test]
fn a_payload_is_an_encapsulation() {
    let mut payload = vec![9; 3];
    oxorb_event::encode(&5_u32, &mut payload).unwrap();
    let little = u8::from(cfg!(target_endian = "little"));
    assert_eq!(payload[0], little);
    assert_eq!(payload[4..], 5_u32.to_ne_bytes());
    assert_eq!(oxorb_event::decode::<u32>(&payload).unwrap(), 5);
    // Decode a payload from a machine with the other byte order.
    let swapped = [1 - little, 0, 0, 0, 0, 0, 0, 5].map(|octet| octet);
    let swapped = match little {
        1 => swapped,
        _ => [1, 0, 0, 0, 5, 0, 0, 0],
    };
    assert_eq!(oxorb_event::decode::<u32>(&swapped).unwrap(), 5);
    // Text is encoded in UTF-8, and decoded strings may borrow from the payload.
    oxorb_event::encode(&"né".to_owned(), &mut payload).unwrap();
    assert_eq!(oxorb_event::decode::<String>(&payload).unwrap(), "né");
    assert!(oxorb_event::decode::<u32>(&[]).is_err());
}

#[test]
fn what_is_no_value_of_the_type_is_counted() {
    let channel = channel();
    let subscriber = Subscriber::<String>::new(&channel, "mixed").unwrap();
    let mixed = channel.names().event_type("mixed").unwrap();
    let filter = Filter::event_type(mixed);
    let called = Subscription::new::<String>(&channel, &filter, |_, _| {}).unwrap();
    Publisher::<u8>::on(&channel, mixed, 1).unwrap().publish(&200).unwrap();
    Publisher::<String>::on(&channel, mixed, 1).unwrap().publish(&"text".into()).unwrap();
    assert_eq!(subscriber.try_recv().unwrap().value, "text");
    assert_eq!((subscriber.undecodable(), called.undecodable()), (1, 1));
}

#[test]
fn full_queues_drop_and_count() {
    let channel = channel();
    let filter = channel.names().filter("n", "").unwrap();
    let with = |when_full| {
        let options = SubscriberOptions { capacity: 2, when_full };
        Subscriber::<u32>::filtered(&channel, &filter, options).unwrap()
    };
    let (latest, first) = (with(WhenFull::DropOldest), with(WhenFull::DropNewest));
    let publisher = Publisher::<u32>::new(&channel, "n", "test").unwrap();
    (1..=5).for_each(|n| publisher.publish(&n).unwrap());
    channel.destroy();
    let values = |subscriber: &Subscriber<u32>| -> Vec<u32> {
        subscriber.iter().map(|sample| sample.value).collect()
    };
    assert_eq!((values(&latest), latest.dropped()), (vec![4, 5], 3));
    assert_eq!((values(&first), first.dropped()), (vec![1, 2], 3));
    assert!(publisher.publish(&6).unwrap_err().to_string().contains("no longer connected"));
}

#[test]
fn a_stream_wakes_its_task_and_ends_with_the_channel() {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let channel = channel();
    let mut subscriber = pin!(Subscriber::<u32>::new(&channel, "n").unwrap());
    let publisher = Publisher::<u32>::new(&channel, "n", "test").unwrap();
    let ends = channel.clone();
    let publishes = thread::spawn(move || {
        for n in 0..100 {
            publisher.publish(&n).unwrap();
        }
        ends.destroy();
    });
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = Context::from_waker(&waker);
    let mut came = Vec::new();
    loop {
        let mut next = pin!(poll_fn(|task| subscriber.as_mut().poll_next(task)));
        match next.as_mut().poll(&mut task) {
            Poll::Ready(Some(sample)) => came.push(sample.value),
            Poll::Ready(None) => break,
            Poll::Pending => thread::park(),
        }
    }
    publishes.join().unwrap();
    assert_eq!(came, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_callback_may_publish_with_the_publisher_that_called_it() {
    let channel = channel();
    let filter = channel.names().filter("n", "").unwrap();
    let publisher = Arc::new(Publisher::<u32>::new(&channel, "n", "test").unwrap());
    let again = Arc::clone(&publisher);
    let _counts_down = Subscription::new::<u32>(&channel, &filter, move |_, n| {
        if n > 0 {
            again.publish(&(n - 1)).unwrap();
        }
    });
    let all = Subscriber::<u32>::new(&channel, "n").unwrap();
    publisher.publish(&3).unwrap();
    channel.destroy();
    let mut came: Vec<u32> = all.iter().map(|sample| sample.value).collect();
    came.sort_unstable();
    assert_eq!(came, [0, 1, 2, 3]);
}

use std::future::Future as _;
