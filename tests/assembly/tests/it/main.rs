//! Programs and libraries made from an assembly.

mod library;
mod runs;
