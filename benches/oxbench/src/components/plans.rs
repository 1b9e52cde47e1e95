//! Documents of E13 and E14, and those derived from them in a run.

use std::fmt::Write as _;

use oxorb_deploy::plan::Plan;
use oxorb_deploy::value::{Any, Basic, Data, Type};
use oxorb_deploy::{Document, Format, Limits};

use crate::Result;
use crate::lanes::Order;

/// Three pairs of a controller and a worker.
pub(super) const PAIRS: &str = include_str!("../../plans/pairs.cdp");

/// Lanes for the pairs; the most urgent lane is for the highest rate, or for the lowest.
pub(super) const BY_RATE: &str = include_str!("../../plans/by-rate.csr");
pub(super) const AGAINST_RATE: &str = include_str!("../../plans/against-rate.csr");

/// Property of the plan with the processor time of one repetition.
const REPETITION: &str = "repetition";

/// Property of the plan with the file for an instance's reference.
const INSTANCE_IOR: &str = "edu.vanderbilt.dre.DAnCE.InstanceIOR";

/// Property of the plan with the work of a call.
const REPETITIONS: &str = "repetitions";

/// Returns the real-time resources of an order.
pub(super) fn resources(order: Order) -> Option<&'static str> {
    match order {
        Order::None => None,
        Order::ByRate => Some(BY_RATE),
        Order::AgainstRate => Some(AGAINST_RATE),
    }
}

/// Returns the file to which the process of a controller writes the controller's reference, according to the plan.
pub(super) fn reference_file(hertz: u32) -> Result<String> {
    let plan = read()?;
    let name = format!("controller-{hertz}");
    let instance = plan.instance_named(&name);
    let file = instance.and_then(|it| it.property(INSTANCE_IOR)?.value.as_text());
    let file =
        file.ok_or_else(|| format!("the plan of the pairs has no {INSTANCE_IOR} of {name}"))?;
    Ok(file.to_owned())
}

/// Returns the plan of the pairs with `repetitions` repetitions per call, as XML.
pub(super) fn pairs(repetitions: u32) -> Result<String> {
    let mut plan = read()?;
    for instance in &mut plan.instance {
        for property in &mut instance.config_property {
            if property.name == REPETITIONS {
                property.value = ulong(repetitions);
            }
        }
    }
    Ok(Document::from(plan).write(Format::Xml)?)
}

/// Returns the microseconds of one repetition, according to the plan.
pub(super) fn repetition() -> Result<f64> {
    let plan = read()?;
    let mut workers = plan.instance.iter();
    let found = workers.find_map(|it| it.property(REPETITION)?.value.as_number());
    found.ok_or_else(|| format!("the plan of the pairs has no {REPETITION}").into())
}

fn read() -> Result<Plan> {
    let document = Document::read(PAIRS, Format::Xml, &Limits::default())?;
    Ok(document.into_plan()?)
}

/// Returns a plan of `instances` instances, evenly spread over `nodes` nodes: controllers, each connected to a worker
/// on the next node. Controllers stay idle until started.
pub(super) fn crowd(instances: usize, nodes: usize) -> String {
    let mut text = String::from(
        "label = \"crowd\"\n\
         [[implementation]]\nname = \"Worker\"\nartifact = \"Components\"\n\
         execParameter = { \"component factory\" = \"create_Load_Worker_Impl\" }\n\
         [[implementation]]\nname = \"Controller\"\nartifact = \"Components\"\n\
         execParameter = { \"component factory\" = \"create_Load_Controller_Impl\" }\n\
         [[artifact]]\nname = \"Components\"\nlocation = \"oxbench-locality\"\n",
    );
    // Writing to a string never fails.
    for pair in 0..instances / 2 {
        let (here, there) = (pair % nodes, (pair + 1) % nodes);
        let _ = write!(
            text,
            "[[instance]]\nname = \"worker-{pair}\"\nimplementation = \"Worker\"\nnode = \"node-{there}\"\n\
             configProperty = {{ repetition = {{ ulong = 50 }} }}\n\
             [[instance]]\nname = \"controller-{pair}\"\nimplementation = \"Controller\"\nnode = \"node-{here}\"\n\
             configProperty = {{ hertz = {{ ulong = 10 }}, repetitions = {{ ulong = 1 }} }}\n\
             [[connection]]\nname = \"pair-{pair}\"\nFacet = \"worker-{pair}.offer\"\n\
             SimplexReceptacle = \"controller-{pair}.worker\"\n"
        );
    }
    text
}

fn ulong(number: u32) -> Any {
    Any { kind: Type::Basic(Basic::ULong), data: Data::Integer(number.into()), ..Any::default() }
}

#[cfg(test)]
mod tests {
    use oxorb_deploy::check::{Input, check, set_of};

    use super::*;

    #[test]
    fn the_documents_go_together() {
        let plan = read().unwrap();
        let priority = |text: &str, name: &str| {
            let document = Document::read(text, Format::Xml, &Limits::default()).unwrap();
            let resources = document.into_resources().unwrap();
            let input =
                Input { plan: &plan, resources: Some(&resources), domain: None, components: None };
            assert_eq!(check(&input).findings, []);
            let set = set_of(plan.instance_named(name).unwrap(), &resources).unwrap();
            set.priority_model.as_ref().unwrap().server_priority.0
        };
        for name in ["worker", "controller"] {
            let of =
                |text: &str| [25, 50, 75].map(|rate| priority(text, &format!("{name}-{rate}")));
            assert_eq!(of(BY_RATE), [20, 40, 60]);
            assert_eq!(of(AGAINST_RATE), [60, 40, 20]);
        }
    }

    #[test]
    fn the_plan_of_a_run_differs_in_its_work_alone() {
        let text = pairs(130).unwrap();
        let made = Document::read(&text, Format::Xml, &Limits::default()).unwrap();
        let made = made.into_plan().unwrap();
        let mut expected = read().unwrap();
        for instance in &mut expected.instance {
            for property in &mut instance.config_property {
                if property.name == REPETITIONS {
                    property.value = ulong(130);
                }
            }
        }
        assert_eq!(made, expected);
        assert_ne!(made, read().unwrap());
        assert_eq!(repetition().unwrap(), 50.0);
        assert_eq!(reference_file(75).unwrap(), "controller-75.ior");
    }

    #[test]
    fn a_crowd_is_even() {
        let text = crowd(100, 4);
        let plan = Document::read(&text, Format::Toml, &Limits::default()).unwrap();
        let plan = plan.into_plan().unwrap();
        let input = Input { plan: &plan, resources: None, domain: None, components: None };
        assert_eq!(check(&input).findings, []);
        let processes = oxorb_deploy::processes(&plan);
        let sizes: Vec<usize> = processes.iter().map(|it| it.instances.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 100);
        assert!(sizes.len() == 4 && sizes.iter().all(|size| (24..=26).contains(size)));
    }
}
