//! All kinds of objects that a client can create are limited, and the exception identifies the limit.

use oxorb::{Any, SystemException, SystemExceptionKind as Kind, minor};
use oxorb_notify::cos_notification::EventType;
use oxorb_notify::cos_notify_channel_admin::event_channel_factory::CreateChannelError;
use oxorb_notify::cos_notify_channel_admin::{ClientType, InterFilterGroupOperator};
use oxorb_notify::cos_notify_comm::notify_subscribe::SubscriptionChangeError;
use oxorb_notify::cos_notify_filter::filter::{AddConstraintsError, GetConstraintsError};
use oxorb_notify::cos_notify_filter::filter_factory::{
    CreateFilterError, CreateMappingFilterError,
};
use oxorb_notify::cos_notify_filter::mapping_filter::AddMappingConstraintsError;
use oxorb_notify::cos_notify_filter::{ConstraintExp, MappingConstraintPair};
use oxorb_notify::{Limits, Settings};
use oxorb_testkit::until;

use crate::notify::Served;

fn limited(limits: Limits) -> Served {
    let limits = Limits { client_share: 100, ..limits };
    Served::with(Settings { limits, ..Settings::default() })
}

/// A constraint whose tree takes many times the size of its text.
fn sum_of_ones() -> ConstraintExp {
    let constraint_expr = format!("1{} == 0", "+1".repeat(1_000));
    ConstraintExp { event_types: Vec::new(), constraint_expr }
}

fn assert_full<T: std::fmt::Debug>(answer: Result<T, AddConstraintsError>) {
    match answer {
        Err(AddConstraintsError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_HELD),
        other => panic!("{other:?}"),
    }
}

fn assert_limit(exception: SystemException, minor: u32) {
    assert_eq!((exception.kind, exception.minor), (Kind::ImpLimit, minor));
}

#[test]
fn channels_admins_and_proxies_are_bounded() {
    let served = limited(Limits { channels: 2, admins: 2, proxies: 2, ..Limits::default() });
    let factory = served.service.factory();
    let (second, _) = factory.create_channel(&[], &[]).unwrap();
    match factory.create_channel(&[], &[]) {
        Err(CreateChannelError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_CHANNELS),
        other => panic!("{other:?}"),
    }
    second.unwrap().destroy().unwrap();
    factory.create_channel(&[], &[]).unwrap();

    let and = InterFilterGroupOperator::AndOp;
    let (admin, _) = served.channel.new_for_consumers(and).unwrap();
    served.channel.new_for_suppliers(and).unwrap();
    let full = served.channel.new_for_consumers(and).unwrap_err();
    assert_limit(full, minor::imp_limit::EVENT_ADMINS);

    let admin = admin.unwrap();
    let (proxy, _) = admin.obtain_notification_push_supplier(ClientType::AnyEvent).unwrap();
    admin.obtain_notification_pull_supplier(ClientType::SequenceEvent).unwrap();
    let full = admin.obtain_push_supplier().unwrap_err();
    assert_limit(full, minor::imp_limit::EVENT_PROXIES);
    let proxy: oxorb_notify::cos_notify_channel_admin::ProxyPushSupplierRef =
        oxorb::Interface::unchecked_narrow(&proxy.unwrap());
    proxy.disconnect_push_supplier().unwrap();
    admin.obtain_push_supplier().unwrap();
    admin.destroy().unwrap();
    served.channel.new_for_consumers(and).unwrap();
}

#[test]
fn filters_and_constraints_are_bounded() {
    let served = limited(Limits {
        filters: 2,
        filters_of_object: 1,
        constraints: 2,
        constraint_octets: 20,
        event_types: 2,
        callbacks: 0,
        ..Limits::default()
    });
    let factory = served.channel.default_filter_factory().unwrap().unwrap();
    let filter = factory.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let mapping = factory.create_mapping_filter("EXTENDED_TCL", &Any::new(1_i16)).unwrap();
    match factory.create_filter("EXTENDED_TCL") {
        Err(CreateFilterError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_FILTERS),
        other => panic!("{other:?}"),
    }
    mapping.unwrap().destroy().unwrap();
    let unknown = factory.create_filter("SQL");
    assert!(matches!(unknown, Err(CreateFilterError::InvalidGrammar(_))));

    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    admin.add_filter(Some(&filter)).unwrap();
    let full = admin.add_filter(Some(&filter)).unwrap_err();
    assert_limit(full, minor::imp_limit::EVENT_FILTERS);

    let constraint =
        |text: &str| ConstraintExp { event_types: Vec::new(), constraint_expr: text.to_owned() };
    let three = ["TRUE", "TRUE", "TRUE"].map(constraint);
    match filter.add_constraints(&three) {
        Err(AddConstraintsError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_CONSTRAINTS),
        other => panic!("{other:?}"),
    }
    assert!(filter.get_all_constraints().unwrap().is_empty(), "all or nothing");
    let long = constraint("TRUE or TRUE or TRUE or TRUE");
    match filter.add_constraints(&[constraint("TRUE"), long.clone()]) {
        Err(AddConstraintsError::InvalidConstraint(invalid)) => assert_eq!(invalid.constr, long),
        other => panic!("{other:?}"),
    }
    assert!(filter.get_all_constraints().unwrap().is_empty(), "all or nothing");

    // Requesting a constraint repeatedly must not make the reply larger than the contents of the filter.
    let added = filter.add_constraints(&[constraint("TRUE")]).unwrap();
    match filter.get_constraints(&[added[0].constraint_id; 3]) {
        Err(GetConstraintsError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_CONSTRAINTS),
        other => panic!("{other:?}"),
    }

    let types: Vec<EventType> = (0..3)
        .map(|number| EventType { domain_name: "d".to_owned(), type_name: number.to_string() })
        .collect();
    match admin.subscription_change(&types, &[]) {
        Err(SubscriptionChangeError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_TYPES),
        other => panic!("{other:?}"),
    }
    let callback = oxorb::Interface::unchecked_narrow(&admin);
    let full = filter.attach_callback(Some(&callback)).unwrap_err();
    assert_limit(full, minor::imp_limit::EVENT_CALLBACKS);
}

#[test]
fn what_is_made_of_constraints_is_counted_and_bounded() {
    let limits = Limits { filter_octets: 256 << 10, held_octets: 450 << 10, ..Limits::default() };
    let served = limited(limits.clone());
    let held = || served.service.held_octets();
    let factory = served.channel.default_filter_factory().unwrap().unwrap();
    let made = || factory.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let (first, second, third) = (made(), made(), made());
    let before = held();

    first.add_constraints(&[sum_of_ones()]).unwrap();
    let one = held() - before;
    assert!((32 << 10..=100 << 10).contains(&one), "{one} octets for a text of 2,000");
    // The list is refused as a whole, and the memory that its first constraints were charged is released.
    let many: Vec<ConstraintExp> = std::iter::repeat_with(sum_of_ones).take(10).collect();
    assert_full(first.add_constraints(&many));
    assert_eq!(held() - before, one);
    assert_eq!(first.get_all_constraints().unwrap().len(), 1);

    // The limit for all filters together applies as well.
    first.add_constraints(&many[..1]).unwrap();
    second.add_constraints(&many[..2]).unwrap();
    let added = (0..10).map(|_| third.add_constraints(&many[..1])).find(Result::is_err);
    assert_full(added.expect("room for ten that do not fit"));
    assert!(held() <= limits.held_octets);
    let kept = third.get_all_constraints().unwrap().len();
    first.destroy().unwrap();
    third.add_constraints(&many[..1]).unwrap();
    third.remove_all_constraints().unwrap();
    second.destroy().unwrap();
    assert_eq!(held(), before, "after {kept} of the third");
}

#[test]
fn values_and_default_values_of_mapping_filters_are_counted() {
    let served = limited(Limits { filter_octets: 8 << 10, ..Limits::default() });
    let factory = served.channel.default_filter_factory().unwrap().unwrap();
    let before = served.service.held_octets();
    match factory.create_mapping_filter("TCL", &Any::new("x".repeat(9 << 10))) {
        Err(CreateMappingFilterError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_HELD),
        other => panic!("{other:?}"),
    }
    let mapping = factory.create_mapping_filter("TCL", &Any::new("x".repeat(4 << 10))).unwrap();
    let mapping = mapping.unwrap();
    let pair = MappingConstraintPair {
        constraint_expression: ConstraintExp {
            event_types: Vec::new(),
            constraint_expr: "TRUE".to_owned(),
        },
        result_to_set: Any::new("x".repeat(5 << 10)),
    };
    match mapping.add_mapping_constraints(&[pair]) {
        Err(AddMappingConstraintsError::System(e)) => {
            assert_limit(e, minor::imp_limit::EVENT_HELD);
        }
        other => panic!("{other:?}"),
    }
    mapping.destroy().unwrap();
    // The request that destroyed the filter may still hold a reference to it.
    until("its default value is given back", || served.service.held_octets() == before);
}

#[test]
fn names_of_event_types_are_counted_with_each_proxy_that_inherits_them() {
    let limits = Limits { held_octets: 64 << 10, ..Limits::default() };
    let served = limited(limits.clone());
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let before = served.service.held_octets();
    let named =
        |octets: usize| [EventType { domain_name: "d".to_owned(), type_name: "t".repeat(octets) }];
    match admin.subscription_change(&named(100 << 10), &[]) {
        Err(SubscriptionChangeError::System(e)) => assert_limit(e, minor::imp_limit::EVENT_HELD),
        other => panic!("{other:?}"),
    }
    assert_eq!(served.service.held_octets(), before);
    admin.subscription_change(&named(4 << 10), &[]).unwrap();
    let obtained = (0..20).map(|_| admin.obtain_push_supplier()).find(Result::is_err);
    let full = obtained.expect("room for twenty lists that do not fit").unwrap_err();
    assert_limit(full, minor::imp_limit::EVENT_HELD);
    assert!(served.service.held_octets() <= limits.held_octets);
    // Removing a type releases memory.
    admin.subscription_change(&[], &named(4 << 10)).unwrap();
    admin.obtain_push_supplier().unwrap();
}
