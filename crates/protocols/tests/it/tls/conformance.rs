//! Conformance of TLS to every obligation of a transport and of its links.

use std::sync::Arc;

use oxorb_conformance::transport;

use crate::tls::common;

transport!(tls, || (Arc::new(common::Eager(common::both_sides())), "127.0.0.1:0"));
