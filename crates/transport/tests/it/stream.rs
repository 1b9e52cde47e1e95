//! Ends of stream sockets.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use oxorb_transport::stream::Stream;

#[test]
fn a_dropped_stream_ends_although_a_child_that_is_starting_has_a_copy() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ours = OwnedFd::from(ours);
    let _copy_of_a_child = ours.try_clone().unwrap();
    let stream: Stream = Stream::new(ours);
    theirs.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    drop(stream);
    assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
}
