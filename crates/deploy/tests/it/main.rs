//! Plans and other documents of a deployment, a module for each subject.

mod any_plan;
mod checks;
mod documents;
mod enforced;
mod extended;
mod inlined;
mod lossless;
mod packages;
mod seeds;
mod simulated;
