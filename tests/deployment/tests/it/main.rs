//! Deployments by managers in processes of their own, a module for each subject.

mod faults;
mod managers;
mod naming;
