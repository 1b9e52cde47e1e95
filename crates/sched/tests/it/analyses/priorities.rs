//! Optimal priorities: an order is found exactly if trying all orders finds one.

use oxorb_sched::analysis::priorities::{NoOrder, optimal, ordered};
use oxorb_sched::analysis::{Report, analyse};
use oxorb_sched::{DispatchModel, Task, TaskSet};
use proptest::prelude::*;

use super::plain::{self, Numbers};

fn permutations(many: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for next in 0..many {
        all = all
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut more = order.clone();
                    more.insert(at, next);
                    more
                })
            })
            .collect();
    }
    all
}

proptest! {
    #![proptest_config(plain::cases(100))]

    #[test]
    fn found_exactly_where_there_is_one(seed in any::<u64>(), many in 2..6usize, preempts in any::<bool>()) {
        let numbers = &mut Numbers(seed);
        let task = |at: usize| {
            let period = numbers.between(5, 30);
            let wcet = numbers.between(1, 1 + period / 3);
            Task {
                deadline: numbers.between(wcet, period + 10),
                jitter: if numbers.happens(30) { numbers.up_to(4) } else { 0 },
                ..Task::periodic(format!("t{at}"), wcet, period)
            }
        };
        let tasks: Vec<Task> = (0..many).map(task).collect();
        let mut set = TaskSet::fixed_priority(tasks);
        if !preempts {
            set.model = DispatchModel::NonPreemptive;
        }
        let any = permutations(many).iter().any(|order| analyse(&ordered(&set, order)).is_feasible());
        match optimal(&set) {
            Ok(order) => prop_assert!(any && analyse(&ordered(&set, &order)).is_feasible(), "{order:?}"),
            Err(NoOrder::Never(_)) => prop_assert!(!any),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn what_depends_on_the_order_is_refused_by_name() {
    let refused = |change: fn(&mut Task)| {
        let mut set =
            TaskSet::fixed_priority([Task::periodic("a", 1, 9), Task::periodic("b", 1, 9)]);
        change(&mut set.tasks[1]);
        optimal(&set).unwrap_err().to_string()
    };
    assert!(refused(|task| task.after = vec!["a".into()]).contains("b is released by events"));
    assert!(refused(|task| task.blocking = 1).contains("b is blocked"));
    let full = TaskSet::fixed_priority([Task::periodic("a", 6, 9), Task::periodic("b", 6, 9)]);
    let told = optimal(&full).unwrap_err().to_string();
    assert!(told.contains("none of a, b meets its deadline as the least urgent"), "{told}");
    assert!(!Report::is_feasible(&analyse(&full)));
}
