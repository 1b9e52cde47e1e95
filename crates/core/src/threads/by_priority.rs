//! Threads for calls of one priority each.

use std::sync::Arc;

use oxorb_rt::Priority;

use super::lock::Mutex;

/// Set of `T`, one for each priority of calls, so that calls of different priorities do not wait for each other.
pub(crate) struct ByPriority<T> {
    make: Box<dyn Fn(Option<Priority>) -> T + Send + Sync>,
    state: Mutex<PrioritiesState<T>>,
}

struct PrioritiesState<T> {
    made: Vec<(Option<Priority>, Arc<T>)>,
    closed: bool,
}

/// Threads that accept work until the ORB ends.
pub(crate) trait Ends {
    /// Stops accepting work.
    fn close(&self);
}

/// Maximum number of priorities with a `T` of their own; calls of further priorities share the nearest one.
const MOST: usize = 32;

impl<T: Ends> ByPriority<T> {
    pub(crate) fn new(make: impl Fn(Option<Priority>) -> T + Send + Sync + 'static) -> Self {
        ByPriority {
            make: Box::new(make),
            state: Mutex::new(PrioritiesState { made: Vec::new(), closed: false }),
        }
    }

    /// Returns the `T` of a priority.
    pub(crate) fn of(&self, priority: Option<Priority>) -> Arc<T> {
        let mut state = self.state.lock();
        let closed = state.closed;
        let made = &mut state.made;
        if let Some((_, found)) = made.iter().find(|(of, _)| *of == priority) {
            return Arc::clone(found);
        }
        if made.len() < MOST {
            let new = Arc::new((self.make)(priority));
            if closed {
                new.close();
            }
            made.push((priority, Arc::clone(&new)));
            return new;
        }
        let number = |priority: Option<Priority>| priority.map_or(-1, Priority::get);
        let far = |of: Option<Priority>| number(of).abs_diff(number(priority));
        let nearest = made.iter().min_by_key(|(of, _)| far(*of));
        Arc::clone(&nearest.expect("there are as many as may be").1)
    }

    /// Closes those of all priorities, because the ORB ends.
    pub(crate) fn close(&self) {
        let made: Vec<_> = {
            let mut state = self.state.lock();
            state.closed = true;
            state.made.iter().map(|(_, each)| Arc::clone(each)).collect()
        };
        made.iter().for_each(|each| each.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Ends for Option<Priority> {
        fn close(&self) {}
    }

    #[test]
    fn each_priority_has_one_and_those_beyond_the_limit_share_the_nearest() {
        let levels = ByPriority::new(|priority| priority);
        let at = |number: i16| levels.of(Some(Priority::new(number).unwrap()));
        assert_eq!(*levels.of(None), None);
        for number in 1..MOST as i16 {
            assert_eq!(at(number * 10).unwrap().get(), number * 10);
        }
        assert_eq!(at(53).unwrap().get(), 50);
        assert_eq!(at(32_767).unwrap().get(), 310);
        assert!(Arc::ptr_eq(&at(50), &at(53)));
    }
}
