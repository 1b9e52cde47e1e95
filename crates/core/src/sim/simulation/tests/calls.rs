//! Calls over an undisturbed network, and the world itself.

use super::everywhere;
use crate::sim::simulation::pair::{
    ServantWork, SimulatedPair, assert_about, note, run, run_async, secs, timed,
};
use crate::sim::simulation::{course, simulate};

#[test]
fn all_ways_to_share_connections_and_threads() {
    everywhere(2, |pair| {
        for number in 0..20 {
            assert_eq!(run(&pair.object, &ServantWork::number(number)), Ok(number + 1));
        }
        note(&pair.object, 20).unwrap();
        let answer = run_async(&pair.object, &ServantWork::number(21));
        assert_eq!(answer.wait(), Ok(22));
        assert_eq!(run(&pair.object, &ServantWork::number(23).later()), Ok(24));
        let (told, took) = timed(|| run(&pair.object, &ServantWork::number(1).taking(secs(50))));
        assert_eq!(told, Ok(2));
        assert_about(took, secs(50));
    });
}

#[test]
fn a_seed_gives_one_course() {
    use std::sync::{Arc, Mutex};
    let courses = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..2 {
        let courses = Arc::clone(&courses);
        simulate(3, move || {
            let pair = SimulatedPair::new();
            let answers: Vec<_> = (0..10)
                .map(|number| run_async(&pair.object, &ServantWork::number(number)))
                .collect();
            for answer in answers {
                answer.wait().unwrap();
            }
            let course = course();
            pair.end();
            courses.lock().unwrap().push(course);
        });
    }
    let courses = courses.lock().unwrap();
    let (first, second) = courses.split_at(courses.len() / 2);
    assert_eq!(first, second);
    assert!(first.len() < 2 || first[0] != first[1], "other seeds, other courses");
}
