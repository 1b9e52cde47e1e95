//! System calls of OxORB: the only crate that makes system calls other than through `std`.
//!
//! All other crates reach the kernel through this one, which uses [`rustix`] and, only where that
//! lacks a call, `libc`. The crates above it forbid `unsafe`.
//!
//! | Module | Contents |
//! |---|---|
//! | [`socket`] | stream sockets: connect, listen, gather-write, append-read, time-outs |
//! | [`datagram`] | UDP sockets, one for each source at a port |
//! | [`multicast`] | UDP sockets of multicast groups |
//! | [`steering`] | groups of listening sockets, and the choice of one for each connection |
//! | [`napi`] | threads that receive packets from network devices, and their priority |
//! | [`unix`] | UNIX sockets: names, connect, listen, peer credentials |
//! | [`poll`] | waiting for many descriptors at once, with a wake-up from other threads |
//! | [`descriptor`] | limit on the number of open descriptors, regular files opened without a wait |
//! | [`spare`] | lock-free slot for one reusable box |
//! | [`interface`] | the addresses of this host |
//! | [`process`] | child processes that end with their parent |
//! | [`thread`] | named threads, and the processors they may run on |
//! | [`schedule`] | classes and priorities of threads, reserved processor time |
//! | [`mutex`] | mutexes with priority inheritance |
//! | [`sync`] | the locks of `std`, without poisoning |
//! | [`memory`] | locked and prefaulted memory |
//! | [`shared`] | memory shared between processes, and copies of octets that may change meanwhile |
//! | [`barrier`] | memory barriers that one thread executes for all others |
//! | [`futex`] | sleeping on a word of memory, across processes |
//! | [`random`] | unpredictable random octets |
//! | [`library`] | shared libraries with one entry point |
//! | [`clock`] | monotonic time, and processor time of threads and processes |
//! | [`cgroup`] | limits of the control groups of this process |
//!
//! This crate does *not* know CORBA, messages or connections, and the caller owns whatever a function
//! returns. It holds global state only for settings of the host ([`napi`]), the allocator
//! ([`memory`]) and the current thread ([`thread`]).

pub mod barrier;
pub mod cgroup;
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
