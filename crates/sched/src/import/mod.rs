//! Models of other tools, read as operations.

pub mod aadl;
