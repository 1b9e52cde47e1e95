//! Binding iterators: their number is limited, and they hold no copies of bindings.

use std::time::Duration;

use oxorb::{SystemException, SystemExceptionKind};
use oxorb_naming::Limits;
use oxorb_naming::cos_naming::{BindingList, BindingType};

use super::{Served, n};

fn filled(limits: Limits, count: usize) -> Served {
    let served = Served::with(limits);
    for i in 0..count {
        served.root.bind(&n(&format!("n{i:03}")), None).unwrap();
    }
    served
}

fn ids(list: &BindingList) -> Vec<&str> {
    let ids = list.iter().map(|binding| {
        assert_eq!(binding.binding_type, BindingType::Nobject);
        assert_eq!(binding.binding_name.len(), 1);
        binding.binding_name[0].id.as_str()
    });
    ids.collect()
}

fn gone(exception: SystemException) -> bool {
    exception.kind == SystemExceptionKind::ObjectNotExist
}

#[test]
fn a_list_that_is_complete_has_no_iterator() {
    let served = filled(Limits::default(), 3);
    let (list, iterator) = served.root.list(3).unwrap();
    assert_eq!(ids(&list), ["n000", "n001", "n002"]);
    assert!(iterator.is_none());
    let empty = served.root.new_context().unwrap().unwrap();
    let (list, iterator) = empty.list(0).unwrap();
    assert!(list.is_empty() && iterator.is_none());
}

#[test]
fn an_iterator_gives_the_rest() {
    let served = filled(Limits::default(), 7);
    let (list, iterator) = served.root.list(2).unwrap();
    let iterator = iterator.unwrap();
    assert_eq!(ids(&list), ["n000", "n001"]);
    let (more, binding) = iterator.next_one().unwrap();
    assert!(more && binding.binding_name == n("n002"));
    let (more, list) = iterator.next_n(3).unwrap();
    assert!(more);
    assert_eq!(ids(&list), ["n003", "n004", "n005"]);
    assert_eq!(iterator.next_n(0).unwrap_err().kind, SystemExceptionKind::BadParam);
    let (more, list) = iterator.next_n(100).unwrap();
    assert!(more);
    assert_eq!(ids(&list), ["n006"]);
    let (more, list) = iterator.next_n(100).unwrap();
    assert!(!more && list.is_empty());
    assert!(!iterator.next_one().unwrap().0);
    assert_eq!(served.service.open_iterators(), 1);
    iterator.destroy().unwrap();
    assert_eq!(served.service.open_iterators(), 0);
    assert!(gone(iterator.next_one().unwrap_err()));
    assert!(gone(iterator.destroy().unwrap_err()));
}

#[test]
fn nothing_may_be_asked_for_at_first() {
    let served = filled(Limits::default(), 2);
    let (list, iterator) = served.root.list(0).unwrap();
    assert!(list.is_empty());
    let (more, list) = iterator.unwrap().next_n(10).unwrap();
    assert!(more);
    assert_eq!(ids(&list), ["n000", "n001"]);
}

#[test]
fn what_changes_behind_shows_and_what_was_given_is_not_given_again() {
    let served = filled(Limits::default(), 5);
    let (_, iterator) = served.root.list(2).unwrap();
    // Unbind a name that was returned, the name that was returned last, and a name that was not yet returned; bind a
    // new one.
    for name in ["n000", "n001", "n003"] {
        served.root.unbind(&n(name)).unwrap();
    }
    served.root.bind(&n("n0025"), None).unwrap();
    let (_, list) = iterator.unwrap().next_n(10).unwrap();
    assert_eq!(ids(&list), ["n002", "n0025", "n004"]);
}

#[test]
fn an_answer_has_a_size() {
    let limits = Limits { answer_bindings: 2, ..Limits::default() };
    let served = filled(limits, 5);
    let (list, iterator) = served.root.list(u32::MAX).unwrap();
    assert_eq!(list.len(), 2);
    let iterator = iterator.unwrap();
    assert_eq!(iterator.next_n(u32::MAX).unwrap().1.len(), 2);
    assert_eq!(iterator.next_n(u32::MAX).unwrap().1.len(), 1);
    // Despite the limit of each answer, a client that continues gets all bindings.
    assert_eq!(served.names().list().unwrap().count(), 5);
    assert_eq!(served.service.open_iterators(), 1);
}

#[test]
fn too_many_close_the_one_that_was_idle_for_longest() {
    let limits = Limits { iterators: 2, ..Limits::default() };
    let served = filled(limits, 3);
    let open = || served.root.list(1).unwrap().1.unwrap();
    let (first, second) = (open(), open());
    first.next_one().unwrap();
    let third = open();
    assert_eq!(served.service.open_iterators(), 2);
    assert!(gone(second.next_one().unwrap_err()));
    assert!(first.next_one().unwrap().0);
    assert!(third.next_one().unwrap().0);
}

#[test]
fn idle_ones_are_closed() {
    let limits = Limits { iterator_idle: Duration::ZERO, ..Limits::default() };
    let served = filled(limits, 3);
    let iterator = served.root.list(1).unwrap().1.unwrap();
    assert!(gone(iterator.next_one().unwrap_err()));
    assert_eq!(served.service.open_iterators(), 0);
    // Abandoned iterators are closed when another one is opened.
    for _ in 0..3 {
        served.root.list(1).unwrap();
    }
    assert_eq!(served.service.open_iterators(), 1);
}

#[test]
fn a_client_that_stops_early_closes_its_iterator() {
    let served = filled(Limits::default(), 150);
    let names = served.names();
    let mut entries = names.list().unwrap();
    assert_eq!(entries.next().unwrap().unwrap().component.id, "n000");
    assert_eq!(served.service.open_iterators(), 1);
    drop(entries);
    assert_eq!(served.service.open_iterators(), 0);
    assert_eq!(names.list().unwrap().count(), 150);
    assert_eq!(served.service.open_iterators(), 0);
}
