//! Conformance of UNIX sockets to every obligation of a transport.

use std::sync::Arc;

use oxorb_conformance::transport;
use oxorb_protocols::unix::Unix;

transport!(unix_path, || (Arc::new(Unix), ""));
transport!(unix_abstract, || (Arc::new(Unix), "@"));
