//! References explained, as plain data.
