//! The display under its plans, and its evolution.

mod evolution;
mod plans;
