//! Commands that need TLS in a command that was built without it.

/// Error of a command that needs the feature `tls`, if the feature is off.
pub(crate) const WITHOUT_TLS: &str = "this command was built without TLS; in a checkout of OxORB, `cargo install --locked --path \
    crates/cli --features tls` builds it with TLS, which requires a C compiler";
