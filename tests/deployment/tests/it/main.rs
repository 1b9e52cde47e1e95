//! Deployments by managers in separate processes, a module for each subject.

mod faults;
mod managers;
mod naming;
