//! Arbitrary plans, for tests of properties of all plans.

use oxorb_deploy::basic::{PortKind, Property};
use oxorb_deploy::plan::{
    Artifact, Connection, Endpoint, ExternalReference, Implementation, Instance, InstanceResource,
    LocalityConstraint, LocalityKind, Plan,
};
use oxorb_deploy::value::{Any, Basic, Data, Type};
use oxorb_deploy::{Id, Ref};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Returns text with all characters that are special in XML, in TOML or in the short forms.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[a-z .\"'\\\\<>&;#=\\[\\]{}\n\r\t]{0,12}",
        any::<String>().prop_map(|text| text
            .chars()
            .filter(|&c| c >= ' ' && c != '\u{fffe}' && c != '\u{ffff}')
            .collect()),
    ]
}

fn leaf() -> impl Strategy<Value = (Type, Data)> {
    let whole = |basic: Basic, least: i64, most: i64| {
        (least..=most).prop_map(move |number| (Type::Basic(basic), Data::Integer(number)))
    };
    let members = || vec!["Port".to_owned(), "Starboard".to_owned()];
    prop_oneof![
        whole(Basic::Short, -32768, 32767),
        whole(Basic::Long, i32::MIN.into(), i32::MAX.into()),
        whole(Basic::LongLong, i64::MIN, i64::MAX),
        whole(Basic::ULong, 0, u32::MAX.into()),
        whole(Basic::Octet, 0, 255),
        any::<u64>().prop_map(|number| (Type::Basic(Basic::ULongLong), Data::Unsigned(number))),
        any::<bool>().prop_map(|value| (Type::Basic(Basic::Boolean), Data::Boolean(value))),
        prop_oneof![
            any::<f64>().prop_filter("equal to itself", |it| !it.is_nan()),
            Just(f64::INFINITY)
        ]
        .prop_map(|number| (Type::Basic(Basic::Double), Data::Double(number))),
        any::<f32>()
            .prop_filter("equal to itself", |it| !it.is_nan())
            .prop_map(|number| (Type::Basic(Basic::Float), Data::Float(number))),
        text().prop_map(|text| (Type::Basic(Basic::String), Data::Text(text))),
        text().prop_map(|text| (Type::Basic(Basic::WString), Data::Text(text))),
        (text(), any::<bool>()).prop_map(|(text, is_wide)| {
            let basic = if is_wide { Basic::WString } else { Basic::String };
            let bound = text.chars().count() as u32 + 1;
            (Type::Bounded { basic, bound }, Data::Text(text))
        }),
        (text(), prop_oneof![Just("Port"), Just("Starboard")]).prop_map(move |(name, value)| {
            let kind = Type::Enum { name, type_id: "IDL:Side:1.0".into(), members: members() };
            (kind, Data::Enum(value.into()))
        }),
        Just((Type::Null, Data::Null)),
    ]
}

fn value() -> impl Strategy<Value = (Type, Data)> {
    leaf().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            (vec((text(), inner.clone()), 0..4), text()).prop_map(|(members, name)| {
                let (kinds, data) =
                    members.into_iter().map(|(name, (kind, data))| ((name, kind), data)).unzip();
                (
                    Type::Struct { name, type_id: "IDL:S:1.0".into(), members: kinds },
                    Data::Struct(data),
                )
            }),
            (inner.clone(), 0..3_usize, option::of(3..9_u32)).prop_map(
                |((kind, data), many, bound)| {
                    (
                        Type::Sequence { bound, element: Box::new(kind) },
                        Data::Sequence(vec![data; many]),
                    )
                }
            ),
            (inner.clone(), 1..3_u32).prop_map(|((kind, data), length)| {
                (
                    Type::Array { length, element: Box::new(kind) },
                    Data::Sequence(vec![data; length as usize]),
                )
            }),
            (inner, text()).prop_map(|((kind, data), name)| {
                (Type::Alias { name, type_id: String::new(), element: Box::new(kind) }, data)
            }),
        ]
    })
}

fn properties() -> impl Strategy<Value = Vec<Property>> {
    vec((text(), value()), 0..4).prop_map(|them| {
        let property =
            |(name, (kind, data))| Property::of(name, Any { kind, data, ..Any::default() });
        them.into_iter().map(property).collect()
    })
}

fn endpoint(instances: usize) -> impl Strategy<Value = Endpoint> {
    (text(), option::of(any::<bool>()), 0..PortKind::ALL.len(), 0..instances).prop_map(
        |(port_name, provider, kind, at)| Endpoint {
            port_name,
            provider,
            kind: PortKind::ALL[kind],
            instance: Ref::to(format!("x.{at}")),
            ..Endpoint::default()
        },
    )
}

/// Returns any plan that documents can represent.
pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    (1..4_usize)
        .prop_flat_map(|many| {
            let instance =
                (text(), option::of(text()), vec(text(), 0..3), properties(), properties());
            let connection = (text(), vec(endpoint(many), 0..5), option::of(text()));
            (
                (option::of(text()), option::of(text())),
                (properties(), vec(text(), 0..3), any::<bool>()),
                vec(instance, many),
                vec(connection, 0..4),
                properties(),
            )
        })
        .prop_map(
            |(
                (label, uuid),
                (exec_parameter, location, same_id),
                instances,
                connections,
                info_property,
            )| {
                let instance = |(at, (name, node, source, config_property, property)): (
                    usize,
                    (String, _, _, _, _),
                )| Instance {
                    id: Id(format!("x.{at}")),
                    // Names must differ from each other, but may equal the id.
                    name: if same_id { format!("x.{at}") } else { format!("{name}{at}") },
                    node,
                    source,
                    implementation: Ref::to("impl"),
                    config_property,
                    deployed_resource: vec![InstanceResource {
                        requirement_name: "r".into(),
                        resource_name: "s".into(),
                        property,
                        ..InstanceResource::default()
                    }],
                    ..Instance::default()
                };
                let connection =
                    |(name, internal_endpoint, outside): (_, _, Option<String>)| Connection {
                        name,
                        internal_endpoint,
                        external_reference: outside
                            .map(|location| ExternalReference {
                                location,
                                ..ExternalReference::default()
                            })
                            .into_iter()
                            .collect(),
                        ..Connection::default()
                    };
                Plan {
                    label,
                    uuid,
                    implementation: vec![Implementation {
                        id: Id("impl".into()),
                        name: "n".into(),
                        artifact: vec![Ref::to("file")],
                        exec_parameter,
                        ..Implementation::default()
                    }],
                    locality_constraint: vec![LocalityConstraint {
                        constraint: LocalityKind::SameProcess,
                        constrained_instance: vec![Ref::to("x.0")],
                        ..LocalityConstraint::default()
                    }],
                    instance: instances.into_iter().enumerate().map(instance).collect(),
                    connection: connections.into_iter().map(connection).collect(),
                    artifact: vec![Artifact {
                        id: Id("file".into()),
                        name: "file".into(),
                        location,
                        ..Artifact::default()
                    }],
                    info_property,
                    ..Plan::default()
                }
            },
        )
}
