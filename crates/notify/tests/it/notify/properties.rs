//! Properties of channels, admins and proxies, set through remote calls.

use oxorb::{Any, SystemExceptionKind as Kind, minor};
use oxorb_notify::cos_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use oxorb_notify::cos_event_comm::push_consumer::PushError;
use oxorb_notify::cos_notification::QoSErrorCode;
use oxorb_notify::cos_notification::qo_s_admin::SetQosError;
use oxorb_notify::cos_notify_channel_admin::ClientType;
use oxorb_notify::cos_notify_channel_admin::event_channel_factory::CreateChannelError;
use oxorb_notify::cos_notify_channel_admin::supplier_admin::ObtainNotificationPushConsumerError;

use crate::notify::Served;
use crate::notify::structured::property;

#[test]
fn wrong_properties_raise_the_standard_exceptions() {
    let served = Served::new();
    let factory = served.service.factory();
    let wrong = [
        property("Priority", Any::new(1_i16)),
        property("OrderPolicy", Any::new(9_i16)),
        property("Colour", Any::new(1_i16)),
    ];
    let Err(CreateChannelError::UnsupportedQoS(unsupported)) = factory.create_channel(&wrong, &[])
    else {
        panic!("it was created");
    };
    let codes: Vec<_> = unsupported.qos_err.iter().map(|one| (&*one.name, one.code)).collect();
    let expected = [("OrderPolicy", QoSErrorCode::BadValue), ("Colour", QoSErrorCode::BadProperty)];
    assert_eq!(codes, expected);
    let high = &unsupported.qos_err[0].available_range.high_val;
    assert_eq!(high.get::<i16>(), Ok(Some(3)));
    let wrong = [property("MaxConsumers", Any::new("many".to_owned()))];
    let created = factory.create_channel(&[], &wrong);
    assert!(matches!(created, Err(CreateChannelError::UnsupportedAdmin(_))));

    // Without a store, no object can be persistent.
    let persistent = [property("ConnectionReliability", Any::new(1_i16))];
    let Err(SetQosError::UnsupportedQoS(unsupported)) = served.channel.set_qos(&persistent) else {
        panic!("it was set");
    };
    assert_eq!(unsupported.qos_err[0].code, QoSErrorCode::UnsupportedValue);
}

#[test]
fn properties_are_inherited_when_an_object_is_made() {
    let served = Served::new();
    let order = |value: i16| [property("OrderPolicy", Any::new(value))];
    let found = |properties: Vec<oxorb_notify::cos_notification::Property>| {
        let order = properties.into_iter().find(|one| one.name == "OrderPolicy");
        order.unwrap().value.get::<i16>().unwrap().unwrap()
    };
    served.channel.set_qos(&order(3)).unwrap();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    assert_eq!(found(admin.get_qos().unwrap()), 3);
    served.channel.set_qos(&order(1)).unwrap();
    assert_eq!(found(admin.get_qos().unwrap()), 3, "it has values of its own");
    let ranges = admin.validate_qos(&order(2)).unwrap();
    assert!(ranges.iter().any(|one| one.name == "MaximumBatchSize"));
    assert!(ranges.iter().all(|one| one.name != "OrderPolicy"));
    assert_eq!(found(admin.get_qos().unwrap()), 3, "validating changes nothing");
}

#[test]
fn administration_bounds_peers_and_events() {
    let served = Served::new();
    served
        .channel
        .set_admin(&[
            property("MaxSuppliers", Any::new(1_i32)),
            property("MaxQueueLength", Any::new(2_i32)),
            property("RejectNewEvents", Any::new(true)),
        ])
        .unwrap();
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    let source = served.source();
    match served.push_consumer().connect_push_supplier(None) {
        Err(ConnectPushSupplierError::System(exception)) => {
            let wanted = (Kind::ImpLimit, minor::imp_limit::EVENT_PEERS);
            assert_eq!((exception.kind, exception.minor), wanted);
        }
        other => panic!("{other:?}"),
    }
    let admin = served.channel.default_supplier_admin().unwrap().unwrap();
    match admin.obtain_notification_push_consumer(ClientType::AnyEvent) {
        Err(ObtainNotificationPushConsumerError::AdminLimitExceeded(limit)) => {
            assert_eq!(limit.admin_property_err.name, "MaxSuppliers");
            assert_eq!(limit.admin_property_err.value.get::<i32>(), Ok(Some(1)));
        }
        other => panic!("{other:?}"),
    }
    source.push(&Any::new(1_i32)).unwrap();
    source.push(&Any::new(2_i32)).unwrap();
    match source.push(&Any::new(3_i32)) {
        Err(PushError::System(exception)) => {
            let wanted = (Kind::ImpLimit, minor::imp_limit::EVENT_QUEUE);
            assert_eq!((exception.kind, exception.minor), wanted);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pull.pull().unwrap().get::<i32>(), Ok(Some(1)));
    source.push(&Any::new(4_i32)).unwrap();
}
