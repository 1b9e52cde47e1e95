//! Questions to filters of other processes about one event: all at once, so that silent ones together take as long as one.

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

/// Questions that are under way at a time.
const AT_A_TIME: usize = 256;

/// Answer of a filter of another process.
#[derive(Clone)]
pub(super) enum Answer {
    Matches(bool),
    /// Value of a mapping filter.
    Value(Any),
    /// No answer: the filter was not asked, or is silent.
    Nothing,
}

/// Answers about one event while it is published.
#[derive(Default)]
pub(crate) struct Answers(Mutex<BTreeMap<usize, (Arc<Foreign>, Answer)>>);

/// Filters that are to be asked about an event, each once.
#[derive(Default)]
pub(crate) struct Questions(BTreeMap<usize, (Arc<Foreign>, Asked)>);

/// Filter that is asked.
pub(super) enum Asked {
    Filter(FilterRef),
    Mapping(MappingFilterRef),
}

/// Answer that is under way, and whether it reached the filter.
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
        // It holds the filter's state, so that no other one has its address.
        self.0.lock().insert(key(&foreign), (foreign, answer));
    }

    /// Forgets them: the event may wait for long.
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

    /// Asks the filters, and notes their answers with the event. No question is asked later than `limit`, and each takes
    /// as long at most.
    pub(crate) fn ask(self, event: &Event, limit: Duration) {
        let end = Instant::now().checked_add(limit);
        let in_time = || end.is_none_or(|end| Instant::now() < end);
        let mut questions: Vec<_> = self.0.into_values().collect();
        // Those that did not answer last time keep no other one from being asked.
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

/// Returns an answer, and whether the question reached the filter: what that raises itself is an answer.
fn answer(result: Result<Answer, Option<SystemException>>) -> (Answer, bool) {
    match result {
        Ok(answer) => (answer, true),
        Err(exception) => {
            let unreachable = exception.as_ref().is_some_and(is_unreachable);
            (Answer::Nothing, !unreachable)
        }
    }
}
