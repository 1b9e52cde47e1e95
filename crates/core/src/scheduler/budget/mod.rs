//! Budgets: limits of operations, objects, POAs and clients on their use of a server, and the treatment of requests
//! beyond them (paper 0, 2.2).
//!
//! ```text
//! -ORBBudget, Orb::set_budget     rules (rule.rs): whose, and how much
//!   -> Ledger (ledger.rs)         of one ORB: an account for each rule, and for each client
//!        -> Account (account.rs)  what is left: a rate (rate.rs), a token bucket (bucket.rs) of time, counters
//! request -> Desk (desk.rs)       of each thread: finds the accounts, and takes a request from each (taking.rs)
//!             -> Bundle           accounts of an operation of an object, cached with their limits (cached.rs)
//!             -> desk/beyond.rs   if an account is exhausted: decides on the treatment of the request
//!             -> Charged          while the request runs (desk/charged.rs): charges its processor time at its end
//!             -> Restraint        of a thread (throttle.rs) that is throttled or demoted beyond the budget
//!        -> BudgetSlot (slot.rs)  what the thread runs, for
//! Watcher (watcher.rs)            each quantum: charges what runs, tells and demotes what overruns
//! ```
//!
//! An ORB without budgets has no ledger; its requests test a flag that they test anyway, and each read of a connection
//! tests whether the connection is paused.

mod account;
mod bucket;
mod cached;
mod clients;
mod described;
mod desk;
mod ledger;
mod lowest;
#[cfg(all(test, feature = "model"))]
mod model;
mod overrun;
mod rate;
mod report;
mod rule;
mod slot;
mod taking;
mod throttle;
mod watcher;

pub(crate) use account::Account;
pub use bucket::Bucket;
pub(crate) use clients::{MOST_CLIENTS, make_room};
pub use described::Described;
pub(crate) use desk::{BudgetedRequest, Desk};
pub(crate) use ledger::Ledger;
pub use overrun::{Overrun, OverrunHooks};
pub(crate) use report::BudgetSum;
pub use report::BudgetUse;
pub use rule::{BeyondBudget, Budget, BudgetError, BudgetOf, ProcessorShare, RequestRate};
pub(crate) use rule::{LONGEST_PERIOD, parse_rule};
