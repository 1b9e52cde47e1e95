//! Admission control of a running server, compared with an analysis of all members and with a
//! simulated processor.

use oxorb_sched::admission::{
    Answer, Controller, LateComers, MemberGrant, MemberRequest, RequestOrder, Unacceptable,
};
use oxorb_sched::analysis::analyse;
use oxorb_sched::{Task, TaskSet};
use proptest::prelude::*;

/// Request for admission, in small whole numbers.
#[derive(Debug, Clone)]
enum Step {
    Admit {
        wcet: u64,
        period: usize,
        /// Deadline in quarters of the period.
        deadline: u64,
        priority: i16,
    },
    Release(usize),
}

/// Periods with a frame of 120.
const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 20, 24];

fn step() -> impl Strategy<Value = Step> {
    let admit = (1..5u64, 0..PERIODS.len(), 2..6u64, 0..4i16).prop_map(
        |(wcet, period, deadline, priority)| Step::Admit { wcet, period, deadline, priority },
    );
    prop_oneof![5 => admit, 1 => (0..8usize).prop_map(Step::Release)]
}

fn wanted(number: usize, step: &Step) -> Option<MemberRequest> {
    let Step::Admit { wcet, period, deadline, priority } = step else {
        return None;
    };
    let period = PERIODS[*period];
    Some(MemberRequest {
        name: format!("task {number}"),
        worst_case: *wcet,
        period,
        deadline: (period * deadline).div_ceil(4).max(1),
        priority: *priority,
        shares: false,
    })
}

/// Reports whether `one` goes first if `other` is the last of all equally urgent members. A
/// guarantee must hold whichever member is last.
fn goes_first(urgency: RequestOrder, one: &MemberRequest, other: &MemberRequest) -> bool {
    match urgency {
        RequestOrder::Deadline => one.deadline <= other.deadline,
        RequestOrder::Priority => one.priority >= other.priority,
    }
}

/// Returns the longest response of `own` on a processor simulated tick by tick if all members
/// arrive together and repeatedly, and all in `first` go first; `None` if the processor is never
/// idle at the end of a frame.
fn played(own: &MemberRequest, first: &[&MemberRequest]) -> Option<u64> {
    const END: u64 = 100_000;
    // Pending work of the members in `first`, and the arrivals of pending jobs of `own`.
    let (mut before, mut waiting) = (0, std::collections::VecDeque::new());
    let (mut longest, mut left) = (0, 0);
    for now in 0..END {
        before += first
            .iter()
            .filter(|task| now % task.period == 0)
            .map(|task| task.worst_case)
            .sum::<u64>();
        if now % own.period == 0 {
            waiting.push_back(now);
        }
        if before > 0 {
            before -= 1;
        } else if let Some(came) = waiting.front().copied() {
            left = if left == 0 { own.worst_case } else { left } - 1;
            if left == 0 {
                longest = longest.max(now + 1 - came);
                waiting.pop_front();
            }
        }
        // The processor is idle at the end of a frame, so from here on the schedule repeats.
        if before == 0 && waiting.is_empty() && now > 0 && (now + 1) % 120 == 0 {
            return Some(longest);
        }
    }
    None
}

/// Reports whether all members meet their deadlines on a simulated processor, behind a thread that
/// goes `ahead` of them.
fn all_in_time(
    urgency: RequestOrder,
    ahead: Option<&MemberRequest>,
    all: &[MemberRequest],
) -> bool {
    all.iter().enumerate().all(|(at, own)| {
        let others = all.iter().enumerate().filter(|(place, _)| *place != at);
        let first: Vec<&MemberRequest> = others
            .map(|(_, other)| other)
            .filter(|other| goes_first(urgency, other, own))
            .chain(ahead)
            .collect();
        let load: f64 =
            first.iter().chain([&own]).map(|it| it.worst_case as f64 / it.period as f64).sum();
        load <= 1.0 + 1e-9 && played(own, &first).is_some_and(|response| response <= own.deadline)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Members with a guarantee meet their deadlines, and so do all others. A refused member would
    /// miss its deadline, or make another member miss one.
    #[test]
    fn guarantees_are_given_exactly_where_all_stay_in_time(
        steps in prop::collection::vec(step(), 1..14),
        by_priority in any::<bool>(),
        ahead in prop::option::of((1..3u64, 0..PERIODS.len())),
    ) {
        let urgency = if by_priority { RequestOrder::Priority } else { RequestOrder::Deadline };
        let mut controller = Controller::new(LateComers::Refuse).urgency(urgency);
        let ahead = ahead.map(|(wcet, period)| MemberRequest {
            name: "ahead".into(),
            ..wanted(0, &Step::Admit { wcet, period, deadline: 4, priority: 0 }).unwrap()
        });
        if let Some(it) = &ahead {
            let thread = Task::periodic(it.name.clone(), it.worst_case, it.period);
            controller = controller.behind(thread);
        }
        let mut there: Vec<MemberRequest> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let Some(wanted) = wanted(number, step) else {
                let Step::Release(which) = step else { unreachable!() };
                if !there.is_empty() {
                    let gone = there.remove(which % there.len());
                    prop_assert!(controller.release(&gone.name));
                    prop_assert!(!controller.release(&gone.name));
                }
                continue;
            };
            let mut with = there.clone();
            with.push(wanted.clone());
            let answer = controller.admit(wanted).unwrap();
            let in_time = all_in_time(urgency, ahead.as_ref(), &with);
            match &answer {
                Answer::Guaranteed { response } => {
                    prop_assert!(in_time, "{with:?}");
                    let own = with.last().unwrap();
                    prop_assert!(*response <= own.deadline);
                    there = with;
                }
                Answer::Refused(late) => {
                    prop_assert!(!in_time, "{late} but {with:?}");
                    prop_assert!(with.iter().any(|it| it.name == late.who));
                }
                Answer::BestEffort { .. } => prop_assert!(false),
            }
        }
        // The reported members equal the result of an analysis of all members from scratch.
        let members = controller.members();
        prop_assert_eq!(members.len(), there.len());
        for member in members {
            let own = &member.wanted;
            let others = there.iter().filter(|it| it.name != own.name);
            let first = others.filter(|it| goes_first(urgency, it, own)).chain(&ahead);
            let task = |it: &MemberRequest| {
                let mut task = Task::periodic(it.name.clone(), it.worst_case, it.period);
                task.deadline = it.deadline;
                task
            };
            let set = TaskSet::fixed_priority(first.map(task).chain([task(own)]));
            let whole = analyse(&set);
            let response = whole.verdicts.last().unwrap().response.unwrap();
            prop_assert_eq!(member.has, MemberGrant::Guarantee { response });
        }
    }

    /// A list is admitted as a whole or not at all; one by one gives the same result, in any order.
    #[test]
    fn a_schedule_is_admitted_as_a_whole(steps in prop::collection::vec(step(), 1..8)) {
        let all: Vec<MemberRequest> = steps
            .iter()
            .enumerate()
            .filter_map(|(number, step)| wanted(number, step))
            .collect();
        let mut whole = Controller::new(LateComers::Refuse);
        let answers = whole.admit_all(all.clone()).unwrap();
        let mut singly = Controller::new(LateComers::Refuse);
        let mut one_by_one = Vec::new();
        for wanted in all.iter().rev() {
            one_by_one.push(singly.admit(wanted.clone()).unwrap());
        }
        let admitted = |answers: &[Answer]| {
            let refused = |it: &Answer| matches!(it, Answer::Refused(_));
            !answers.iter().any(refused)
        };
        prop_assert_eq!(admitted(&answers), admitted(&one_by_one));
        match admitted(&answers) {
            // Equally urgent members stay in the order of arrival, so compare both lists sorted by
            // name.
            true => {
                let sorted = |controller: &Controller| {
                    let mut members = controller.members();
                    members.sort_by(|one, other| one.wanted.name.cmp(&other.wanted.name));
                    members
                };
                prop_assert_eq!(sorted(&whole), sorted(&singly));
            }
            false => prop_assert!(whole.members().is_empty()),
        }
    }

    /// A whole list has what it was answered, or none is admitted, whether latecomers share or not.
    #[test]
    fn a_schedule_has_what_it_was_answered(
        there in prop::collection::vec(step(), 0..4),
        steps in prop::collection::vec((step(), any::<bool>()), 1..8),
        share in any::<bool>(),
    ) {
        let late_comers = if share { LateComers::Share } else { LateComers::Refuse };
        let mut controller = Controller::new(late_comers);
        for wanted in there.iter().enumerate().filter_map(|(number, step)| wanted(number, step)) {
            controller.admit(MemberRequest { name: format!("there {}", wanted.name), ..wanted }).unwrap();
        }
        let before = controller.members();
        let all: Vec<MemberRequest> = steps
            .iter()
            .enumerate()
            .filter_map(|(number, (step, shares))| {
                Some(MemberRequest { shares: *shares, ..wanted(number, step)? })
            })
            .collect();
        let answers = controller.admit_all(all.clone()).unwrap();
        let members = controller.members();
        for (wanted, answer) in all.iter().zip(answers) {
            let has = members.iter().find(|member| member.wanted == *wanted).map(|it| it.has);
            match answer {
                Answer::Guaranteed { response } => prop_assert_eq!(has, Some(MemberGrant::Guarantee { response })),
                Answer::BestEffort { share, late } => {
                    prop_assert_eq!(has, Some(MemberGrant::Share(share)));
                    prop_assert!(share.time > 0);
                    prop_assert!(late.is_none() || late_comers == LateComers::Share && !wanted.shares);
                }
                Answer::Refused(_) => prop_assert_eq!(&members, &before),
            }
        }
    }

    /// Any number of members with shares together have the time that guarantees leave, in equal
    /// parts.
    #[test]
    fn shares_are_equal_and_never_more_than_there_is(
        guaranteed in prop::collection::vec(step(), 0..4),
        sharing in 1..40usize,
    ) {
        let mut controller = Controller::new(LateComers::Share);
        for (number, step) in guaranteed.iter().enumerate() {
            if let Some(wanted) = wanted(number, step) {
                controller.admit(wanted).unwrap();
            }
        }
        for number in 0..sharing {
            let wanted = MemberRequest {
                name: format!("client {number}"),
                worst_case: 0,
                period: 0,
                deadline: 0,
                priority: 0,
                shares: true,
            };
            controller.admit(wanted).unwrap();
        }
        let members = controller.members();
        let shares: Vec<_> = members
            .iter()
            .filter_map(|member| match member.has {
                MemberGrant::Share(share) => Some(share),
                MemberGrant::Guarantee { .. } => None,
            })
            .collect();
        prop_assert!(shares.windows(2).all(|pair| pair[0] == pair[1]));
        if let Some(share) = shares.first() {
            let load = u128::from(controller.utilization().0);
            let sharers = shares.len() as u128;
            let all = u128::from(share.time) * sharers * 1_000_000_000;
            let period = u128::from(share.period);
            let left = 1_000_000_000_u128.saturating_sub(load) * period;
            prop_assert!(all <= left);
            // All the remaining time is shared, except for less than a nanosecond for each member.
            // Nothing is shared if a later guarantee took the rest.
            prop_assert!(left - all < period + sharers * 1_000_000_000);
        }
    }
}

#[test]
fn a_schedule_for_which_nothing_is_left_is_refused_as_a_whole() {
    let whole = |name: &str| MemberRequest {
        name: name.into(),
        worst_case: 10,
        period: 10,
        deadline: 10,
        priority: 0,
        shares: false,
    };
    let mut controller = Controller::new(LateComers::Share);
    controller.admit(whole("all")).unwrap();
    let shares = MemberRequest { shares: true, ..whole("share") };
    for late in
        [vec![whole("late"), whole("later")], vec![whole("late"), shares.clone()], vec![shares]]
    {
        let answers = controller.admit_all(late).unwrap();
        assert!(answers.iter().all(|it| matches!(it, Answer::Refused(_))), "{answers:?}");
        assert_eq!(controller.members().len(), 1);
    }
}

/// A mistake is reported even if earlier operations of the list are late. Two operations of one
/// name are a mistake.
#[test]
fn a_mistake_in_a_schedule_is_told_before_anything_of_it_is_late() {
    let wanted = |name: &str, worst_case| MemberRequest {
        name: name.into(),
        worst_case,
        period: 10,
        deadline: 10,
        priority: 0,
        shares: false,
    };
    for policy in [LateComers::Refuse, LateComers::Share] {
        let mut controller = Controller::new(policy);
        controller.admit(wanted("there", 8)).unwrap();
        for mistake in [wanted("", 0), wanted("there", 1), wanted("late", 1)] {
            let name = mistake.name.clone();
            let told = controller.admit_all(vec![wanted("late", 8), mistake]).unwrap_err();
            match told {
                Unacceptable::Duplicate(of) => assert_eq!(of, name),
                Unacceptable::Time { what, .. } => assert_eq!(what, "worst-case time"),
                other => panic!("{other}"),
            }
            assert_eq!(controller.members().len(), 1);
        }
    }
}

/// Returns a request whose deadline is its period.
fn guarantee(name: &str, worst_case: u64, period: u64) -> MemberRequest {
    MemberRequest {
        name: name.into(),
        worst_case,
        period,
        deadline: period,
        priority: 0,
        shares: false,
    }
}

/// Times whose analysis takes long are refused at the limit, and the reason names the limit.
#[test]
fn an_admission_whose_analysis_would_take_long_is_refused() {
    let busy = guarantee("busy", 9_999, 10_000);
    // Its response is 10,000 times its own time, which the analysis approaches in small steps.
    let slow = guarantee("slow", 1_000_000, 1 << 50);
    let mut patient = Controller::new(LateComers::Refuse);
    patient.admit(busy.clone()).unwrap();
    assert!(matches!(patient.admit(slow.clone()), Ok(Answer::Guaranteed { .. })));
    for late in [LateComers::Refuse, LateComers::Share] {
        let mut controller = Controller::new(late).visit_at_most(1_000);
        controller.admit(busy.clone()).unwrap();
        for admit_all in [false, true] {
            let answer = match admit_all {
                true => controller.admit_all(vec![slow.clone(), guarantee("more", 1, 1 << 50)]),
                false => controller.admit(slow.clone()).map(|answer| vec![answer]),
            };
            let told = match &answer.unwrap()[0] {
                Answer::Refused(told) => told.clone(),
                Answer::BestEffort { late, .. } => late.clone().unwrap(),
                other @ Answer::Guaranteed { .. } => panic!("{other:?}"),
            };
            assert_eq!((told.who.as_str(), told.short), ("slow", None));
            assert!(told.because.contains("no bound within 1000 visits"), "{told}");
            controller.release("slow");
            controller.release("more");
            assert_eq!(controller.members().len(), 1);
        }
    }
}

/// A list is analysed once, not once for each of its members.
#[test]
fn a_long_schedule_needs_few_visits() {
    const COUNT: u64 = 200;
    let name = |number| format!("task {number}");
    let all: Vec<MemberRequest> =
        (0..COUNT).map(|number| guarantee(&name(number), 1, 1_000 + number)).collect();
    // Each analysis of a member visits each member some times.
    let mut controller = Controller::new(LateComers::Refuse).visit_at_most(8 * COUNT * COUNT);
    let answers = controller.admit_all(all).unwrap();
    assert!(
        answers.iter().all(|answer| matches!(answer, Answer::Guaranteed { .. })),
        "{answers:?}"
    );
    // Without visits a release changes no bound, and all still hold.
    let mut controller = controller.visit_at_most(0);
    let before = controller.members();
    assert!(controller.release(&name(0)));
    assert_eq!(controller.members()[..], before[1..]);
}

#[test]
fn late_comers_share_what_is_left_and_have_more_when_somebody_goes() {
    let ms = oxorb_sched::time::MILLISECOND;
    let quote = |name: &str| MemberRequest {
        name: name.into(),
        worst_case: 4 * ms,
        period: 10 * ms,
        deadline: 10 * ms,
        priority: 0,
        shares: false,
    };
    let mut controller = Controller::new(LateComers::Share);
    for name in ["a", "b"] {
        assert!(matches!(controller.admit(quote(name)).unwrap(), Answer::Guaranteed { .. }));
    }
    let Answer::BestEffort { share, late } = controller.admit(quote("c")).unwrap() else {
        panic!("it comes too late");
    };
    assert_eq!(late.unwrap().who, "c");
    assert!((19 * ms..=20 * ms).contains(&share.time), "{share}");
    controller.admit(quote("d")).unwrap();
    let has = |controller: &Controller, name: &str| {
        let members = controller.members();
        members.into_iter().find(|it| it.wanted.name == name).unwrap().has
    };
    let MemberGrant::Share(half) = has(&controller, "c") else {
        panic!("it shares");
    };
    assert_eq!(half.time, share.time / 2);
    assert_eq!(has(&controller, "d"), MemberGrant::Share(half));
    assert!(controller.release("a"));
    let MemberGrant::Share(more) = has(&controller, "c") else {
        panic!("it goes on sharing");
    };
    assert!(more.time > share.time, "{more}");
}
