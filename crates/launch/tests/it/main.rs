//! Plans launched, a module for each subject.

mod locality;
mod wire;
