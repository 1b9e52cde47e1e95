//! The one door to the operating system.
//!
//! Everything OxORB asks of the kernel beyond what `std` offers goes through here, by way of
//! [`rustix`] and, only where that lacks a call, `libc`. The crates above forbid `unsafe`.
//!
//! | Module | What it opens |
//! |---|---|
//! | [`socket`] | stream sockets: connect, listen, gather-write, append-read, time-outs |
//! | [`datagram`] | UDP sockets, one for each source at a port |
//! | [`steering`] | groups of listening sockets, and which of them takes a connection |
//! | [`napi`] | threads that take packets from network devices, and their priority |
//! | [`unix`] | UNIX sockets: names, connect, listen, who the peer is |
//! | [`poll`] | waiting for many descriptors at once, with a wake-up from other threads |
//! | [`descriptor`] | how many descriptors there may be |
//! | [`interface`] | the addresses of this host |
//! | [`process`] | child processes that end with their parent |
//! | [`thread`] | named threads, and the processors they may run on |
//! | [`schedule`] | classes and priorities of threads, reserved processor time |
//! | [`mutex`] | mutexes with priority inheritance |
//! | [`sync`] | the locks of `std`, which return their guards |
//! | [`memory`] | locked memory, faulted in beforehand |
//! | [`shared`] | memory that other processes share, and copies of what they may change meanwhile |
//! | [`barrier`] | memory barriers that one thread pays for all others |
//! | [`futex`] | sleeping on a word of memory, across processes |
//! | [`random`] | random octets that nobody can guess |
//! | [`library`] | shared libraries with one entry point |
//! | [`clock`] | monotonic time, and processor time of threads and processes |
//!
//! It does *not* know CORBA, messages or connections, and keeps no state of its own ([`napi`] alone remembers what belongs to
//! the whole host): what a function returns, the caller owns.

pub mod barrier;
pub mod clock;
pub mod datagram;
pub mod descriptor;
pub mod futex;
pub mod interface;
pub mod library;
pub mod memory;
pub mod multicast;
pub mod mutex;
pub mod napi;
pub mod poll;
pub mod process;
pub mod random;
pub mod schedule;
pub mod shared;
pub mod socket;
pub mod spare;
pub mod steering;
pub mod sync;
pub mod thread;
pub mod unix;
