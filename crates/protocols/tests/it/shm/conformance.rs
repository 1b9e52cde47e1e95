//! Conformance of shared memory to every obligation of a transport.

use std::sync::Arc;

use oxorb_conformance::transport;
use oxorb_protocols::shm::Shm;

transport!(shm_path, || (Arc::new(Shm), ""));
transport!(shm_abstract, || (Arc::new(Shm), "@"));
transport!(shm_small_rings, || (Arc::new(Shm), "|ring=4K"));
