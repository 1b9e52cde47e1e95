//! Conformance tests of the transport and of the messaging, with one line for each.

use std::sync::Arc;

use oxorb_example_protocol_from_scratch::{checksum::CHECKSUM, serial::Serial};
use oxorb_giop::Wire;

oxorb_conformance::transport!(serial, || (Arc::new(Serial::new(u32::MAX)), ""));
oxorb_conformance::messaging!(checksum, Wire::Other(CHECKSUM));
