//! Checks of a notification channel that do not concern the delivery of events. JacORB's programs make the same checks,
//! under the same names.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;

use oxorb::{Any, Interface as _, Orb};
use oxorb_notify::cos_notification::{EventType, Property};
use oxorb_notify::cos_notify_channel_admin::structured_proxy_push_supplier::{
    ConnectStructuredPushConsumerError, ResumeConnectionError, SuspendConnectionError,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, ConsumerAdminRef, EventChannelRef, InterFilterGroupOperator, ObtainInfoMode,
    ProxyType, StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef, event_channel,
};
use oxorb_notify::cos_notify_comm::StructuredPushConsumerRef;
use oxorb_notify::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use oxorb_notify::cos_notify_filter::{
    ConstraintExp, ConstraintInfo, FilterRef, MappingConstraintPair, filter, filter_factory,
};

use crate::jacorb::kinds::{Peer, event};

/// Runs the checks. Returns their names and, for each check that failed, the reason.
pub(crate) fn run(orb: &Orb, channel: &EventChannelRef) -> Vec<(String, Option<String>)> {
    let checks = Checks { orb: orb.clone(), channel: channel.clone() };
    let all: [(&str, Check); 16] = [
        ("filters", Checks::filters),
        ("modify_constraints", Checks::modify_constraints),
        ("delete_constraints", Checks::delete_constraints),
        ("invalid_constraints", Checks::invalid_constraints),
        ("filters_of_objects", Checks::filters_of_objects),
        ("mapping_filters", Checks::mapping_filters),
        ("qos", Checks::qos),
        ("validate_qos", Checks::validate_qos),
        ("unsupported_qos", Checks::unsupported_qos),
        ("validate_event_qos", Checks::validate_event_qos),
        ("administration", Checks::administration),
        ("admins", Checks::admins),
        ("proxies", Checks::proxies),
        ("states", Checks::states),
        ("unconnected", Checks::unconnected),
        ("types", Checks::types),
    ];
    let results = all.map(|(name, check)| {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&checks)));
        let why = outcome.err().map(|panic| match panic.downcast::<String>() {
            Ok(why) => *why,
            Err(panic) => panic
                .downcast::<&str>()
                .map_or_else(|_| "a panic".to_owned(), |why| (*why).to_owned()),
        });
        (name.to_owned(), why)
    });
    results.into()
}

type Check = fn(&Checks);

struct Checks {
    orb: Orb,
    channel: EventChannelRef,
}

fn constraint(text: &str) -> ConstraintExp {
    ConstraintExp {
        event_types: vec![EventType { domain_name: "peers".to_owned(), type_name: "*".to_owned() }],
        constraint_expr: text.to_owned(),
    }
}

fn property(name: &str, value: Any) -> Property {
    Property { name: name.to_owned(), value }
}

fn find(properties: &[Property], name: &str) -> Any {
    let found = properties.iter().find(|one| one.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value.clone()
}

impl Checks {
    fn filter(&self, text: &str) -> FilterRef {
        let filters = self.channel.default_filter_factory().unwrap().unwrap();
        let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
        filter.add_constraints(&[constraint(text)]).unwrap();
        filter
    }

    fn filters(&self) {
        let filter = self.filter("$number == 1");
        assert_eq!(filter.constraint_grammar().unwrap(), "EXTENDED_TCL");
        let more = filter.add_constraints(&[constraint("$number == 2")]);
        assert_eq!(more.unwrap().len(), 1);
        assert_eq!(filter.get_all_constraints().unwrap().len(), 2);
        for (number, wanted) in [(1, true), (2, true), (3, false), (13, false)] {
            let matched = filter.match_structured(&event(number));
            assert_eq!(matched.unwrap(), wanted, "{number}");
        }
        filter.remove_all_constraints().unwrap();
        assert!(filter.get_all_constraints().unwrap().is_empty());
        assert!(!filter.match_structured(&event(1)).unwrap());
        filter.destroy().unwrap();
    }

    fn modify_constraints(&self) {
        let filter = self.filter("$number == 1");
        let first = filter.get_all_constraints().unwrap()[0].constraint_id;
        let changed = ConstraintInfo {
            constraint_expression: constraint("$number == 3"),
            constraint_id: first,
        };
        filter.modify_constraints(&[], &[changed]).unwrap();
        assert!(!filter.match_structured(&event(1)).unwrap());
        assert!(filter.match_structured(&event(3)).unwrap());
        filter.destroy().unwrap();
    }

    fn delete_constraints(&self) {
        let filter = self.filter("$number == 1");
        let first = filter.get_all_constraints().unwrap()[0].constraint_id;
        filter.modify_constraints(&[first], &[]).unwrap();
        assert!(filter.get_all_constraints().unwrap().is_empty());
        let gone = filter.get_constraints(&[first]);
        let gone = gone.map(|_| ()).unwrap_err();
        let not_found = matches!(gone, filter::GetConstraintsError::ConstraintNotFound(_));
        assert!(not_found, "{gone}");
        filter.destroy().unwrap();
    }

    fn invalid_constraints(&self) {
        let filter = self.filter("$number == 1");
        let refused = filter.add_constraints(&[constraint("1 <")]);
        let refused = refused.map(|_| ()).unwrap_err();
        let invalid = matches!(refused, filter::AddConstraintsError::InvalidConstraint(_));
        assert!(invalid, "{refused}");
        let filters = self.channel.default_filter_factory().unwrap().unwrap();
        let refused = filters.create_filter("NONSENSE").map(|_| ()).unwrap_err();
        let invalid = matches!(refused, filter_factory::CreateFilterError::InvalidGrammar(_));
        assert!(invalid, "{refused}");
        filter.destroy().unwrap();
    }

    fn filters_of_objects(&self) {
        let operator = InterFilterGroupOperator::OrOp;
        let (admin, _) = self.channel.new_for_consumers(operator).unwrap();
        let admin = admin.unwrap();
        let filter = self.filter("TRUE");
        let first = admin.add_filter(Some(&filter)).unwrap();
        let second = admin.add_filter(Some(&filter)).unwrap();
        assert_ne!(first, second);
        assert!(admin.get_filter(first).unwrap().is_some());
        assert_eq!(admin.get_all_filters().unwrap().len(), 2);
        admin.remove_filter(first).unwrap();
        assert!(admin.get_filter(first).is_err());
        admin.remove_all_filters().unwrap();
        assert!(admin.get_all_filters().unwrap().is_empty());
        admin.destroy().unwrap();
    }

    fn mapping_filters(&self) {
        let filters = self.channel.default_filter_factory().unwrap().unwrap();
        let filter = filters.create_mapping_filter("EXTENDED_TCL", &Any::new(1_i16));
        let filter = filter.unwrap().unwrap();
        let pair = MappingConstraintPair {
            constraint_expression: constraint("$number == 4"),
            result_to_set: Any::new(7_i16),
        };
        assert_eq!(filter.add_mapping_constraints(&[pair]).unwrap().len(), 1);
        assert_eq!(filter.default_value().unwrap(), Any::new(1_i16));
        for (number, wanted, value) in [(4, true, 7_i16), (5, false, 1)] {
            let (matched, found) = filter.match_structured(&event(number)).unwrap();
            assert_eq!((matched, found), (wanted, Any::new(value)), "{number}");
        }
        filter.destroy().unwrap();
    }

    fn supplier(&self, admin: &ConsumerAdminRef) -> (StructuredProxyPushSupplierRef, i32) {
        let form = ClientType::StructuredEvent;
        let (proxy, id) = admin.obtain_notification_push_supplier(form).unwrap();
        (proxy.unwrap().unchecked_narrow(), id)
    }

    fn default_supplier(&self) -> StructuredProxyPushSupplierRef {
        let admin = self.channel.default_consumer_admin().unwrap().unwrap();
        self.supplier(&admin).0
    }

    fn source(&self) -> StructuredProxyPushConsumerRef {
        let admin = self.channel.default_supplier_admin().unwrap().unwrap();
        let form = ClientType::StructuredEvent;
        let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
        proxy.unwrap().unchecked_narrow()
    }

    fn consumer(&self) -> StructuredPushConsumerRef {
        let peer = Peer::new(1, channel().0);
        self.orb.root_poa().activate(peer).unwrap()
    }

    fn qos(&self) {
        let operator = InterFilterGroupOperator::AndOp;
        let (admin, _) = self.channel.new_for_consumers(operator).unwrap();
        let admin = admin.unwrap();
        let batch = |most: i32| property("MaximumBatchSize", Any::new(most));
        let order = property("OrderPolicy", Any::new(1_i16));
        admin.set_qos(&[batch(5), order]).unwrap();
        let (proxy, _) = self.supplier(&admin);
        for qos in [admin.get_qos().unwrap(), proxy.get_qos().unwrap()] {
            assert_eq!(find(&qos, "MaximumBatchSize"), Any::new(5_i32));
            assert_eq!(find(&qos, "OrderPolicy"), Any::new(1_i16));
        }
        proxy.set_qos(&[batch(6)]).unwrap();
        let of = |qos: Vec<Property>| find(&qos, "MaximumBatchSize");
        assert_eq!(of(proxy.get_qos().unwrap()), Any::new(6_i32));
        assert_eq!(of(admin.get_qos().unwrap()), Any::new(5_i32));
        admin.destroy().unwrap();
    }

    fn validate_qos(&self) {
        let priority = property("Priority", Any::new(5_i16));
        self.channel.validate_qos(&[priority]).unwrap();
    }

    fn unsupported_qos(&self) {
        let unknown = property("Colour", Any::new(5_i16));
        self.channel.set_qos(&[unknown]).unwrap_err();
        let wrong = property("Priority", Any::new(5_i32));
        self.channel.set_qos(&[wrong]).unwrap_err();
    }

    fn validate_event_qos(&self) {
        let proxy = self.default_supplier();
        let priority = property("Priority", Any::new(5_i16));
        proxy.validate_event_qos(&[priority]).unwrap();
        proxy.disconnect_structured_push_supplier().unwrap();
    }

    fn administration(&self) {
        let most = |most: i32| property("MaxConsumers", Any::new(most));
        self.channel.set_admin(&[most(50)]).unwrap();
        let set = self.channel.get_admin().unwrap();
        assert_eq!(find(&set, "MaxConsumers"), Any::new(50_i32));
        self.channel.set_admin(&[most(0)]).unwrap();
    }

    fn admins(&self) {
        let operator = InterFilterGroupOperator::OrOp;
        let (admin, id) = self.channel.new_for_consumers(operator).unwrap();
        let admin = admin.unwrap();
        assert_eq!(admin.my_id().unwrap(), id);
        assert_eq!(admin.my_operator().unwrap(), operator);
        assert!(admin.my_channel().unwrap().is_some());
        let found = self.channel.get_consumeradmin(id).unwrap().unwrap();
        assert_eq!(found.my_id().unwrap(), id);
        let all = self.channel.get_all_consumeradmins().unwrap();
        assert!(all.contains(&id));
        admin.destroy().unwrap();
        let gone = self.channel.get_consumeradmin(id).map(|_| ()).unwrap_err();
        let not_found = matches!(gone, event_channel::GetConsumeradminError::AdminNotFound(_));
        assert!(not_found, "{gone}");
        self.channel.get_supplieradmin(987_654).unwrap_err();
        assert!(self.channel.my_factory().unwrap().is_some());
    }

    fn proxies(&self) {
        let admin = self.channel.default_consumer_admin().unwrap().unwrap();
        let (proxy, id) = self.supplier(&admin);
        assert_eq!(proxy.my_type().unwrap(), ProxyType::PushStructured);
        assert!(proxy.my_admin().unwrap().is_some());
        assert!(admin.push_suppliers().unwrap().contains(&id));
        assert!(admin.get_proxy_supplier(id).unwrap().is_some());
        proxy.disconnect_structured_push_supplier().unwrap();
        admin.get_proxy_supplier(id).unwrap_err();
        assert!(!admin.push_suppliers().unwrap().contains(&id));
    }

    fn states(&self) {
        use ConnectStructuredPushConsumerError as Connect;
        let proxy = self.default_supplier();
        let early = proxy.suspend_connection().unwrap_err();
        assert!(matches!(early, SuspendConnectionError::NotConnected(_)), "{early}");
        let early = proxy.resume_connection().unwrap_err();
        assert!(matches!(early, ResumeConnectionError::NotConnected(_)), "{early}");
        let consumer = self.consumer();
        proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
        let twice = proxy.connect_structured_push_consumer(Some(&consumer)).unwrap_err();
        assert!(matches!(twice, Connect::AlreadyConnected(_)), "{twice}");
        let twice = proxy.resume_connection().unwrap_err();
        let active = matches!(twice, ResumeConnectionError::ConnectionAlreadyActive(_));
        assert!(active, "{twice}");
        proxy.suspend_connection().unwrap();
        let twice = proxy.suspend_connection().unwrap_err();
        let inactive = matches!(twice, SuspendConnectionError::ConnectionAlreadyInactive(_));
        assert!(inactive, "{twice}");
        proxy.resume_connection().unwrap();
        proxy.disconnect_structured_push_supplier().unwrap();
    }

    fn unconnected(&self) {
        let source = self.source();
        let refused = source.push_structured_event(&event(1)).unwrap_err();
        let disconnected = matches!(refused, PushStructuredEventError::Disconnected(_));
        assert!(disconnected, "{refused}");
        source.disconnect_structured_push_consumer().unwrap();
    }

    /// Each side is notified of the other side's offers and subscriptions.
    fn types(&self) {
        let (proxy, source) = (self.default_supplier(), self.source());
        let consumer = self.consumer();
        proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
        source.connect_structured_push_supplier(None).unwrap();
        let of =
            |name: &str| EventType { domain_name: "peers".to_owned(), type_name: name.to_owned() };
        let (offered, wanted) = (of("offered"), of("wanted"));
        source.offer_change(std::slice::from_ref(&offered), &[]).unwrap();
        proxy.subscription_change(std::slice::from_ref(&wanted), &[]).unwrap();
        let mode = ObtainInfoMode::AllNowUpdatesOn;
        assert!(proxy.obtain_offered_types(mode).unwrap().contains(&offered));
        assert!(source.obtain_subscription_types(mode).unwrap().contains(&wanted));
        source.offer_change(&[], std::slice::from_ref(&offered)).unwrap();
        proxy.subscription_change(&[], std::slice::from_ref(&wanted)).unwrap();
        proxy.disconnect_structured_push_supplier().unwrap();
        source.disconnect_structured_push_consumer().unwrap();
    }
}
