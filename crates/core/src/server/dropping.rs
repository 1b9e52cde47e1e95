//! Oneways that may be dropped from a lane's queue, by the lane's rules.

use std::time::Instant;

use oxorb_giop::{Request, Response};
use oxorb_object::Qos;

use super::threadpool::DropRules;
use crate::threads::clock;

/// Rule for one queued request.
#[derive(Clone, Copy, Default)]
pub(super) struct Dropping {
    /// Time after which the oneway is dropped.
    pub(super) until: Option<Instant>,
    /// Whether the oneway may be dropped when the queue is full.
    pub(super) gives_way: bool,
}

impl Dropping {
    /// Returns the rule for a request that was read now. One comparison without rules.
    #[inline]
    pub(super) fn of(rules: &DropRules, request: &Request<'_>) -> Dropping {
        match rules.is_empty() || request.response != Response::None {
            true => Dropping::default(),
            false => Dropping::by_class(rules, request),
        }
    }

    #[cold]
    fn by_class(rules: &DropRules, request: &Request<'_>) -> Dropping {
        let class = Qos::of(&request.contexts).unwrap_or_default().class;
        let rule = rules.rule(class);
        Dropping {
            until: rule.age.and_then(|age| clock::now().checked_add(age)),
            gives_way: rule.full,
        }
    }

    /// Reports whether the request has been queued for too long.
    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| until <= clock::now())
    }
}
