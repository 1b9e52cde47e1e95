//! Lists of dependencies in both syntaxes of TAO, and invalid lists.

use oxorb_event::rtec_event_channel_admin::Dependency;
use oxorb_event::{Filter, FilterErrorKind, FilterLimits, Syntax, TimeoutKind, event_type};

const DISJUNCTION: i32 = event_type::DISJUNCTION_DESIGNATOR;
const CONJUNCTION: i32 = event_type::CONJUNCTION_DESIGNATOR;
const AND: i32 = event_type::LOGICAL_AND_DESIGNATOR;
const NOT: i32 = event_type::NEGATION_DESIGNATOR;
const BITMASK: i32 = event_type::BITMASK_DESIGNATOR;
const NULL: i32 = event_type::NULL_DESIGNATOR;
const MASKED: i32 = event_type::MASKED_TYPE_DESIGNATOR;

/// Headers, syntax, and position and kind of the expected error.
type Case<'a> = (&'a [(i32, i32)], Syntax, usize, FilterErrorKind);

fn list(headers: &[(i32, i32)]) -> Vec<Dependency> {
    let dependency = |&(event_type, source): &(i32, i32)| {
        let mut one = Dependency::default();
        one.event.header.r#type = event_type;
        one.event.header.source = source;
        one.event.header.creation_time = 1_000;
        one
    };
    headers.iter().map(dependency).collect()
}

fn read(headers: &[(i32, i32)], syntax: Syntax) -> Result<Filter, (usize, FilterErrorKind)> {
    let limits = FilterLimits { dependencies: 12, depth: 4 };
    Filter::parse(&list(headers), syntax, &limits).map_err(|why| (why.at, why.kind))
}

#[test]
fn basic_groups_last_until_the_end() {
    let read = |headers| read(headers, Syntax::Basic);
    assert_eq!(read(&[(17, 3)]), Ok(Filter::event(17, 3)));
    assert_eq!(read(&[]), Ok(Filter::NONE));
    let timeout = Filter::Timeout { kind: TimeoutKind::Interval, period: 1_000 };
    let wanted = Filter::any_of([Filter::event_type(17), Filter::not(Filter::source(3)), timeout]);
    let headers = [(DISJUNCTION, 0), (17, 0), (NOT, 0), (0, 3), (event_type::INTERVAL_TIMEOUT, 0)];
    assert_eq!(read(&headers), Ok(wanted));
    let wanted = Filter::each_of([
        Filter::Bitmask { type_mask: 3, source_mask: 4, then: Box::new(Filter::event_type(17)) },
        Filter::MaskedType { type_mask: 5, source_mask: 6, type_value: 7, source_value: 8 },
    ]);
    let headers = [(CONJUNCTION, 0), (BITMASK, 0), (3, 4), (17, 0), (MASKED, 0), (5, 6), (7, 8)];
    assert_eq!(read(&headers), Ok(wanted));
    // A negation applies to the next filter. In basic syntax this may be the group.
    let nor = Filter::not(Filter::any_of([Filter::event_type(17), Filter::event_type(18)]));
    assert_eq!(read(&[(NOT, 0), (DISJUNCTION, 0), (17, 0), (18, 0)]), Ok(nor));
}

#[test]
fn prefix_groups_count_their_members() {
    let wanted = Filter::all_of([
        Filter::any_of([Filter::event_type(17), Filter::event_type(18)]),
        Filter::source(3),
    ]);
    let headers = [(AND, 2), (DISJUNCTION, 2), (17, 0), (18, 0), (0, 3)];
    assert_eq!(read(&headers, Syntax::Prefix), Ok(wanted.clone()));
    // The counts add up to the length of the list, so `Auto` selects prefix syntax.
    assert_eq!(read(&headers, Syntax::Auto), Ok(wanted));
    let flat = Filter::any_of([Filter::event_type(17), Filter::event_type(18)]);
    assert_eq!(read(&[(DISJUNCTION, 0), (17, 0), (18, 0)], Syntax::Auto), Ok(flat));
}

/// The first group can be at any position, and may contain any filters.
#[test]
fn the_whole_list_tells_its_syntax() {
    let group = || {
        Filter::all_of([
            Filter::any_of([Filter::event_type(17), Filter::event_type(18)]),
            Filter::source(3),
        ])
    };
    let headers = [(AND, 2), (DISJUNCTION, 2), (17, 0), (18, 0), (0, 3)];
    let behind = |start: &[(i32, i32)]| read(&[start, &headers].concat(), Syntax::Auto);
    assert_eq!(behind(&[]), Ok(group()));
    assert_eq!(behind(&[(NOT, 0)]), Ok(Filter::not(group())));
    assert_eq!(behind(&[(NOT, 0), (NOT, 0)]), Err((4, FilterErrorKind::Depth(4))));
    let masked = |then| Filter::Bitmask { type_mask: 6, source_mask: 5, then: Box::new(then) };
    assert_eq!(behind(&[(BITMASK, 0), (6, 5)]), Ok(masked(group())));
    // The headers that contain masks and values may have the types of designators, but are not parsed as groups.
    let values = Filter::MaskedType {
        type_mask: AND,
        source_mask: 1,
        type_value: CONJUNCTION,
        source_value: 2,
    };
    let odd = [(DISJUNCTION, 0), (MASKED, 0), (AND, 1), (CONJUNCTION, 2), (17, 0)];
    let read = |headers| read(headers, Syntax::Auto);
    assert_eq!(read(&odd), Ok(Filter::any_of([values, Filter::event_type(17)])));
    // A count of 0 among other counts is valid, and means an empty group.
    let empty = Filter::each_of([Filter::all_of([]), Filter::event_type(17)]);
    assert_eq!(read(&[(CONJUNCTION, 2), (AND, 0), (17, 0)]), Ok(empty));
}

/// TAO's basic syntax ignores counts. A list whose counts do not add up is therefore parsed as basic.
#[test]
fn counts_that_do_not_add_up_are_ignored_as_in_basic_syntax() {
    let both = Filter::any_of([Filter::event_type(16), Filter::event_type(17)]);
    let one = Filter::any_of([Filter::event_type(16)]);
    for syntax in [Syntax::Auto, Syntax::Basic] {
        assert_eq!(read(&[(DISJUNCTION, 1), (16, 0), (17, 0)], syntax), Ok(both.clone()));
        assert_eq!(read(&[(DISJUNCTION, 2), (16, 0)], syntax), Ok(one.clone()));
        let not = Filter::not(both.clone());
        assert_eq!(read(&[(NOT, 0), (DISJUNCTION, 9), (16, 0), (17, 0)], syntax), Ok(not));
    }
    // In prefix syntax, nested groups must have counts, because nothing else marks the end of the inner group.
    let nested = [(AND, 2), (DISJUNCTION, 2), (16, 0)];
    assert_eq!(read(&nested, Syntax::Auto), Err((1, FilterErrorKind::Members(2))));
    let nested = [(AND, 0), (DISJUNCTION, 0), (16, 0)];
    assert_eq!(read(&nested, Syntax::Auto), Err((1, FilterErrorKind::Trails)));
}

/// The lists of TAO's tests `Bitmask` and `Complex`: a bitmask without a further filter, and all events except those
/// with one type and source.
#[test]
fn the_null_designator_stands_where_a_filter_may() {
    for syntax in [Syntax::Basic, Syntax::Prefix, Syntax::Auto] {
        let null = Box::new(Filter::Null);
        let masks = Filter::Bitmask { type_mask: 6, source_mask: 5, then: null };
        assert_eq!(read(&[(BITMASK, 0), (6, 5), (NULL, 0)], syntax), Ok(masks), "{syntax:?}");
        let but_one = Filter::all_of([Filter::Null, Filter::not(Filter::event(20, 10))]);
        let headers = [(AND, 2), (NULL, 0), (NOT, 0), (20, 10)];
        assert_eq!(read(&headers, syntax), Ok(but_one), "{syntax:?}");
    }
}

#[test]
fn malformed_lists_are_refused_where_they_go_wrong() {
    use FilterErrorKind::{Dependencies, Depth, Designator, Ends, Members, Period, Trails};
    let cases: &[Case<'_>] = &[
        (&[(NOT, 0)], Syntax::Basic, 1, Ends),
        (&[(BITMASK, 0), (1, 1)], Syntax::Basic, 2, Ends),
        (&[(MASKED, 0), (1, 1)], Syntax::Prefix, 2, Ends),
        // TAO would silently ignore the second dependency.
        (&[(17, 0), (18, 0)], Syntax::Basic, 1, Trails),
        (&[(CONJUNCTION, 0), (17, 0), (DISJUNCTION, 0), (18, 0)], Syntax::Basic, 2, Trails),
        (&[(DISJUNCTION, 0), (NOT, 0), (AND, 0), (17, 0)], Syntax::Basic, 2, Trails),
        (&[(AND, 1), (17, 0), (18, 0)], Syntax::Prefix, 2, Trails),
        (&[(AND, 3), (17, 0)], Syntax::Prefix, 0, Members(3)),
        (&[(AND, -1), (17, 0)], Syntax::Prefix, 0, Members(-1)),
        (&[(AND, i32::MAX), (17, 0)], Syntax::Prefix, 0, Members(i32::MAX)),
        (&[(7, 0)], Syntax::Basic, 0, Designator(7)),
        (&[(NOT, 0), (15, 0)], Syntax::Basic, 1, Designator(15)),
        (&[(NOT, 0), (NOT, 0), (NOT, 0), (NOT, 0), (17, 0)], Syntax::Basic, 4, Depth(4)),
        (&[(17, 0); 13], Syntax::Basic, 12, Dependencies { found: 13, limit: 12 }),
    ];
    for (headers, syntax, at, kind) in cases {
        assert_eq!(read(headers, *syntax), Err((*at, *kind)), "{headers:?}");
    }
    let mut still = list(&[(event_type::DEADLINE_TIMEOUT, 0)]);
    still[0].event.header.creation_time = 0;
    let refused = Filter::parse(&still, Syntax::Basic, &FilterLimits::default()).unwrap_err();
    assert_eq!(refused.kind, Period);
    assert_eq!(
        refused.to_string(),
        "dependency 0: a periodic timeout needs a period greater than 0"
    );
}

#[test]
fn the_depth_that_is_allowed_costs_no_stack() {
    let limits = FilterLimits { dependencies: 100_000, ..FilterLimits::default() };
    let mut headers = vec![(NOT, 0); 99_999];
    headers.push((17, 0));
    let refused = Filter::parse(&list(&headers), Syntax::Prefix, &limits).unwrap_err();
    assert_eq!(refused.kind, FilterErrorKind::Depth(32));
}
