//! Shared helpers of the tests.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`alloc`] | proving that a path does not allocate |
//! | [`instructions()`] | cost of a path, by callgrind |
//! | [`syscalls`] | proving which system calls a path makes |
//! | [`process`] | other processes that never outlive their test |
//! | [`peers`] | other ORBs, if they are installed |
//! | [`realtime`] | privileges for priorities and reservations |
//! | [`stall`] | time that the machine takes from all threads of a processor |
//! | [`resources`] | descriptors, threads and memory of a process |
//! | [`hostile`] | peers that send octets which no correct client sends |
//! | [`watchdog()`] | tests that never hang |
//! | [`rounds()`] | number of repetitions in a test |
//! | [`side_by_side()`], [`at_once()`] | cases that wait, several at a time, or all |
//! | [`until()`] | waiting for other threads |
//! | [`net`] | free ports |
//! | [`unique()`] | names of temporary files and of sockets |
//! | [`tap`] | recording the octets between two processes |
//! | [`octets()`] | octets written as hexadecimal digits |
//! | [`page`] | pages of the documentation that are written from tables |
//! | [`disk`] | full disks |
//! | [`svg`] | elements of pictures |
//! | `authority` | test certificates, by feature `certificates` |
#![deny(unsafe_code)]

pub mod alloc;
#[cfg(feature = "certificates")]
pub mod authority;
mod callgrind;
pub mod disk;
pub mod hostile;
pub mod net;
mod octets;
pub mod page;
pub mod patience;
pub mod peers;
pub mod process;
pub mod realtime;
pub mod resources;
mod rounds;
mod side_by_side;
pub mod stall;
pub mod svg;
pub mod syscalls;
pub mod tap;
mod unique;
mod until;
pub mod watchdog;

pub use callgrind::instructions;
pub use octets::octets;
pub use realtime::{overload_is_refused, require_realtime, require_reservations};
pub use rounds::rounds;
pub use side_by_side::{at_once, side_by_side};
pub use unique::unique;
pub use until::until;
pub use watchdog::{Watchdog, watchdog};
