//! Tests of parts of plans in processes, from the document to connected components.

mod attributes;
mod events;
mod executors;
mod launch;
mod managed;
mod policies;
mod processes;
mod rates;
mod redeploy;
mod refusals;
mod scene;

#[allow(missing_docs, unused, clippy::all, clippy::pedantic)]
mod generated {
    oxorb::include_idl!("avionics");
}
use generated::avionics;
