//! Conversion of plans to the structs of `Deployment.idl` and back.

#[path = "../../../deploy/tests/it/any_plan/mod.rs"]
mod any_plan;

use oxorb_cdr::{Any, ByteOrder, CharSet, Decode, Decoder, Dialect, Encode, Encoder, TypeCode};
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Document, Format, Limits};
use oxorb_launch::idl::deployment::DeploymentPlan;
use oxorb_launch::wire::{from_any, from_wire, to_wire};
use proptest::prelude::*;

fn read(name: &str) -> Plan {
    let path = format!("{}/../deploy/tests/plans/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let format = Format::of_file(name).unwrap();
    let document = Document::read(&text, format, &Limits::default()).unwrap();
    document.into_plan().unwrap()
}

/// Dialect that two OxORB ORBs negotiate.
const DIALECT: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

/// Encodes a plan as in a message, and decodes it again.
fn sent(plan: &DeploymentPlan) -> DeploymentPlan {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, DIALECT);
    plan.encode(&mut encoder).unwrap();
    let octets = encoder.finish().to_vec();
    DeploymentPlan::decode(&mut Decoder::new(&octets, ByteOrder::Big, DIALECT)).unwrap()
}

#[test]
fn documents_survive() {
    for name in ["avionics.toml", "collision.toml", "ciao.cdp", "kinds.cdp"] {
        let plan = read(name);
        let back = from_wire(&sent(&to_wire(&plan).unwrap())).unwrap();
        assert_eq!(back.instance.len(), plan.instance.len(), "{name}");
        for (back, plan) in back.instance.iter().zip(&plan.instance) {
            assert_eq!(back.name, plan.name);
            assert_eq!(back.node, plan.node);
            assert_eq!(back.config_property, plan.config_property);
        }
        for (back, plan) in back.connection.iter().zip(&plan.connection) {
            for (back, plan) in back.internal_endpoint.iter().zip(&plan.internal_endpoint) {
                assert_eq!((&back.port_name, back.kind), (&plan.port_name, plan.kind));
                assert_eq!(back.provides(), plan.provides());
            }
        }
        let again = from_wire(&sent(&to_wire(&back).unwrap())).unwrap();
        assert_eq!(again, back, "{name}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let mut plan = to_wire(&read("avionics.toml")).unwrap();
    plan.instance[0].implementation_ref = 7;
    let wrong = from_wire(&plan).unwrap_err();
    assert_eq!(wrong.to_string(), "rate: index 7 is out of range: there are 3");
    plan.instance[0].implementation_ref = 0;
    plan.instance[0].config_property[0].value = Any::new(Any::new(1_u32));
    let wrong = from_wire(&plan).unwrap_err();
    let text = "hertz: properties of plans have no values of the type any";
    assert_eq!(wrong.to_string(), text);
}

#[test]
fn a_type_that_contains_itself_is_refused() {
    let id = "IDL:Node:1.0";
    let inner = TypeCode::sequence(TypeCode::recursive(id));
    let node = TypeCode::structure(id, "Node", [("next", inner)]);
    let empty = oxorb_cdr::Dynamic::default_for(&node).unwrap();
    let any = Any::with_type(node, empty).unwrap();
    let wrong = from_any(&any).unwrap_err();
    assert_eq!(wrong, "a type is more than 48 deep, the limit");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_plan_survives(plan in any_plan::plan()) {
        let wire = to_wire(&plan).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let back = from_wire(&sent(&wire)).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let again = to_wire(&back).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&from_wire(&sent(&again)).unwrap(), &back);
        for (back, plan) in back.instance.iter().zip(&plan.instance) {
            prop_assert_eq!(&back.config_property, &plan.config_property);
            prop_assert_eq!(&back.name, &plan.name);
        }
        prop_assert_eq!(&back.info_property, &plan.info_property);
    }
}
