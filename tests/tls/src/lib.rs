//! Whole ORBs over TLS, in a package of its own: the facade has TLS only where somebody asks for it.
#![forbid(unsafe_code)]
