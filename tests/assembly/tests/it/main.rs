//! Programs and libraries that an assembly becomes.

mod library;
mod runs;
