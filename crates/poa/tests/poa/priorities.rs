//! Valid combinations of RT-CORBA policies.

use oxorb_core::policy::ProtocolList;
use oxorb_core::{Threadpool, ThreadpoolId, ThreadpoolLane};
use oxorb_object::{
    PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, Protocol, profile_tag,
};
use oxorb_poa::{IdUniqueness, Poa, PoaError, Policies, Policy, RtPolicies};
use oxorb_rt::Priority;

use crate::common::*;

fn declared(server_priority: i16) -> Policy {
    Policy::PriorityModel(PriorityModelPolicy {
        model: PriorityModel::ServerDeclared,
        server_priority,
    })
}

fn propagated(server_priority: i16) -> Policy {
    Policy::PriorityModel(PriorityModelPolicy {
        model: PriorityModel::ClientPropagated,
        server_priority,
    })
}

fn bands(list: &[(i16, i16)]) -> Policy {
    let list: Vec<_> = list.iter().map(|&(low, high)| PriorityBand { low, high }).collect();
    Policy::PriorityBands(PriorityBands::new(&list).unwrap())
}

fn protocols(tags: &[u32]) -> Policy {
    let list: Vec<_> = tags.iter().copied().map(Protocol::new).collect();
    Policy::ServerProtocol(ProtocolList::new(&list).unwrap())
}

/// Returns the index and the rule of the error for a list of policies; `None` if the list is valid.
fn verdict(root: &Poa, name: &str, list: &[Policy]) -> Option<(u16, &'static str)> {
    match root.new_poa(name).policy_list(list).create() {
        Ok(_) => None,
        Err(PoaError::InvalidPolicy(invalid)) => Some((invalid.index, invalid.rule)),
        Err(other) => panic!("{name}: {other}"),
    }
}

/// A list of policies, and the index and a part of the rule that it breaks.
type Row<'a> = (&'a [Policy], Option<(u16, &'a str)>);

#[test]
fn combinations_are_as_the_table_says() {
    let (orb, root) = start();
    let lane = |value| ThreadpoolLane::new(Priority::new(value).unwrap(), 1);
    let lanes = orb.create_threadpool(Threadpool::with_lanes([lane(10), lane(20)])).unwrap();
    let plain = orb.create_threadpool(Threadpool::new(1)).unwrap();
    let (lanes, plain) = (Policy::Threadpool(lanes), Policy::Threadpool(plain));
    let nowhere = Policy::Threadpool(ThreadpoolId(99));
    let other = Policy::IdUniqueness(IdUniqueness::Multiple);
    let tcp = profile_tag::INTERNET_IOP;
    let table: &[Row<'_>] = &[
        // Lists with a single policy of RT-CORBA.
        (&[declared(0)], None),
        (&[propagated(32_767)], None),
        (&[plain], None),
        (&[protocols(&[tcp])], None),
        (&[other, declared(-1)], Some((1, "0 to 32767"))),
        (&[propagated(-1), other], Some((0, "0 to 32767"))),
        (&[other, nowhere], Some((1, "no such threadpool"))),
        (&[other, lanes], Some((1, "needs a priority_model"))),
        (&[bands(&[(0, 9)])], Some((0, "need a priority_model"))),
        (&[other, protocols(&[tcp, profile_tag::TAO_UIOP])], Some((1, "tag of its profiles"))),
        // Combinations of threadpool and priority model.
        (&[plain, declared(7)], None),
        (&[plain, propagated(7)], None),
        (&[lanes, propagated(7)], None),
        (&[lanes, declared(20)], None),
        (&[other, lanes, declared(15)], Some((1, "no lane"))),
        (&[declared(15), lanes], Some((0, "no lane"))),
        // Combinations of bands and priority model.
        (&[propagated(5), bands(&[(0, 9), (10, 99)])], None),
        (&[declared(5), bands(&[(0, 9), (10, 99)])], None),
        (&[propagated(500), bands(&[(0, 9)])], None),
        (&[propagated(5), bands(&[])], Some((1, "the list contains no band"))),
        (&[propagated(5), bands(&[(9, 0)])], Some((1, "low to high"))),
        (&[propagated(5), bands(&[(-1, 9)])], Some((1, "low to high"))),
        (&[other, bands(&[(6, 9)]), declared(5)], Some((1, "lies in no band"))),
        (&[declared(5), other, bands(&[(6, 9)])], Some((0, "lies in no band"))),
        // Combinations of threadpool, priority model and bands.
        (&[lanes, propagated(5), bands(&[(0, 15), (16, 99)])], None),
        (&[lanes, declared(15), bands(&[(10, 19)])], None),
        (&[propagated(5), lanes, bands(&[(0, 5)])], Some((1, "no lane"))),
        (&[propagated(5), bands(&[(0, 15), (30, 40)]), lanes], Some((1, "no lane"))),
        (&[lanes, declared(5), bands(&[(10, 19)])], Some((1, "lies in no band"))),
        (&[plain, propagated(5), bands(&[(0, 5)])], None),
        // The same kind of policy occurs twice.
        (&[propagated(5), other, declared(5)], Some((2, "once"))),
    ];
    for (row, (list, expected)) in table.iter().enumerate() {
        let found = verdict(&root, &format!("row-{row}"), list);
        match (found, expected) {
            (None, None) => {}
            (Some((index, rule)), Some((at, part))) if index == *at && rule.contains(part) => {}
            (found, expected) => panic!("row {row}: {found:?}, expected {expected:?}"),
        }
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_struct_of_policies_is_checked_as_the_list_of_its_fields() {
    let (orb, root) = start();
    let policies = Policies {
        realtime: RtPolicies { threadpool: Some(ThreadpoolId(3)), ..RtPolicies::default() },
        ..Policies::default()
    };
    let refused = root.create_poa("nowhere", policies).unwrap_err();
    let PoaError::InvalidPolicy(invalid) = refused else {
        panic!("{refused}");
    };
    assert_eq!(invalid.index, 9, "after the nine of every POA");
    assert_eq!(Policies::from_list(&policies.to_list()), Ok(policies));
    orb.shutdown(true).unwrap();
}
