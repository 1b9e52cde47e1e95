//! Whole ORBs over TLS, in a separate package: the facade has TLS only if the feature is selected.
#![forbid(unsafe_code)]
