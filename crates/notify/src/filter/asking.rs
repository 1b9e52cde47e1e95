//! Concurrent calls to remote filters for one event, so that several unresponsive filters delay the event no longer
//! than one.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb::{Any, SystemException};
use oxorb_sys::sync::Mutex;

use super::foreign::{Foreign, is_unreachable};
use crate::answers::next_answer;
use crate::cos_notify_filter::{FilterRef, MappingFilterRef, filter, mapping_filter};
use crate::event::{Body, Event};

/// Maximum number of concurrent calls.
const AT_A_TIME: usize = 256;

/// Result of a call to a remote filter.
#[derive(Clone)]
pub(super) enum Answer {
    Matches(bool),
    /// Value that a mapping filter returned.
    Value(Any),
    /// Missing result, because the filter was not called or did not answer.
    Nothing,
}

/// Results of remote filters for one event, kept while the event is published.
#[derive(Default)]
pub(crate) struct Answers(Mutex<BTreeMap<usize, (Arc<Foreign>, Answer)>>);

/// Filters to be called for an event, without duplicates.
#[derive(Default)]
pub(crate) struct Questions(BTreeMap<usize, (Arc<Foreign>, Asked)>);

/// A filter to be called.
pub(super) enum Asked {
    Filter(FilterRef),
    Mapping(MappingFilterRef),
}

/// A call in progress. Its output is the result, and whether the call reached the filter.
type UnderWay = Pin<Box<dyn Future<Output = (Answer, bool)>>>;

fn key(foreign: &Arc<Foreign>) -> usize {
    Arc::as_ptr(foreign) as usize
}

impl Answers {
    pub(super) fn of(&self, foreign: &Arc<Foreign>) -> Option<Answer> {
        let answers = self.0.lock();
        answers.get(&key(foreign)).map(|(_, answer)| answer.clone())
    }

    fn put(&self, foreign: Arc<Foreign>, answer: Answer) {
        // Store the filter's state with the answer. While it exists, no other filter can have the same address, which
        // is the key.
        self.0.lock().insert(key(&foreign), (foreign, answer));
    }

    /// Discards the results, because the event may wait in queues for a long time.
    pub(crate) fn clear(&self) {
        let answers = std::mem::take(&mut *self.0.lock());
        drop(answers);
    }
}

impl Questions {
    pub(super) fn add(&mut self, foreign: &Arc<Foreign>, asked: impl FnOnce() -> Asked) {
        let entry = self.0.entry(key(foreign));
        entry.or_insert_with(|| (Arc::clone(foreign), asked()));
    }

    /// Calls the filters, and stores their results in the event. No call begins after `limit`, and each call takes at
    /// most this time.
    pub(crate) fn ask(self, event: &Event, limit: Duration) {
        let end = Instant::now().checked_add(limit);
        let in_time = || end.is_none_or(|end| Instant::now() < end);
        let mut questions: Vec<_> = self.0.into_values().collect();
        // Call filters that have failed before last, so that they do not delay the others.
        questions.sort_by_key(|(foreign, _)| foreign.failures());
        let mut questions = questions.into_iter();
        let mut calls = Vec::new();
        loop {
            while calls.len() < AT_A_TIME
                && in_time()
                && let Some((foreign, asked)) = questions.next()
            {
                match foreign.may_ask() {
                    true => calls.push((foreign, asked.begin(event))),
                    false => event.answers.put(foreign, Answer::Nothing),
                }
            }
            let Some((foreign, (answer, reached))) = next_answer(&mut calls) else {
                break;
            };
            foreign.note(reached);
            event.answers.put(foreign, answer);
        }
        questions.for_each(|(foreign, _)| event.answers.put(foreign, Answer::Nothing));
    }
}

impl Asked {
    fn begin(&self, event: &Event) -> UnderWay {
        use filter::{MatchError, MatchStructuredError};
        use mapping_filter::{MatchError as MapError, MatchStructuredError as MapStructuredError};
        match (self, &event.body) {
            (Asked::Filter(filter), Body::Any(any)) => {
                let call = filter.match_async(any);
                Box::pin(async move {
                    answer(call.await.map(Answer::Matches).map_err(|error| match error {
                        MatchError::System(exception) => Some(exception),
                        _ => None,
                    }))
                })
            }
            (Asked::Filter(filter), Body::Structured(event)) => {
                let call = filter.match_structured_async(event);
                Box::pin(async move {
                    answer(call.await.map(Answer::Matches).map_err(|error| match error {
                        MatchStructuredError::System(exception) => Some(exception),
                        _ => None,
                    }))
                })
            }
            (Asked::Mapping(filter), Body::Any(any)) => {
                let call = filter.match_async(any);
                Box::pin(async move {
                    let mapped = call.await.map(|(_, value)| Answer::Value(value));
                    answer(mapped.map_err(|error| match error {
                        MapError::System(exception) => Some(exception),
                        _ => None,
                    }))
                })
            }
            (Asked::Mapping(filter), Body::Structured(event)) => {
                let call = filter.match_structured_async(event);
                Box::pin(async move {
                    let mapped = call.await.map(|(_, value)| Answer::Value(value));
                    answer(mapped.map_err(|error| match error {
                        MapStructuredError::System(exception) => Some(exception),
                        _ => None,
                    }))
                })
            }
        }
    }
}

/// Converts the result of a call, and reports whether the call reached the filter. A user exception shows that it did.
fn answer(result: Result<Answer, Option<SystemException>>) -> (Answer, bool) {
    match result {
        Ok(answer) => (answer, true),
        Err(exception) => {
            let unreachable = exception.as_ref().is_some_and(is_unreachable);
            (Answer::Nothing, !unreachable)
        }
    }
}
