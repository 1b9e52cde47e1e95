//! Checks of policies in real-time resources: each set is consistent, and both ends of a connection match.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::lookup::{Accepts, Lookup};
use super::pairs::too_many_pairs;
use crate::finding::{Finding, Place, Severity, Source, listed};
use crate::model::plan::{Instance, Plan};
use crate::model::rtcad::{
    Attachment, ConnectionBands, Events, Lane, OrbConfigs, PolicySet, PriorityModelKind,
    ServerResources, TextRef, Threadpool, ThreadpoolWithLanes,
};

/// Property of a deployed resource that names the policies of an instance.
const INSTANCE_POLICY: &str = "CIAO:InstancePolicy";

pub(super) fn check(plan: &Plan, resources: &ServerResources) -> Vec<Finding> {
    let configs = resources.orb_configs.clone().unwrap_or_default();
    let mut checked = Checked::of(&configs);
    for set in &configs.policy_set {
        checked.set(set);
    }
    checked.attachments(plan, resources);
    let is_wrong = |finding: &Finding| finding.severity == Severity::Error;
    if !checked.findings.iter().any(is_wrong) {
        checked.connections(plan, resources);
    }
    let Checked { findings, in_plan, .. } = checked;
    let findings = findings.into_iter().map(|finding| finding.within(Source::Rtcad));
    findings.chain(in_plan).collect()
}

/// Returns the policy set of an instance: that of its attachment, otherwise that of its deployed resource. Linear
/// in the document; use [`Lookup::set_of`] for many instances.
pub fn set_of<'r>(instance: &Instance, resources: &'r ServerResources) -> Option<&'r PolicySet> {
    let attached =
        resources.attachment(&instance.name).and_then(|attachment| attachment.policy_set.as_ref());
    match attached {
        Some(to) => resources.policy_set(&to.id),
        None => resources.policy_set(deployed_policy(instance)?.0),
    }
}

/// Returns the policy set that a plan itself names, as CIAO's plans do.
pub(super) fn deployed_policy(instance: &Instance) -> Option<(&str, Place)> {
    let properties = instance.deployed_resource.iter().flat_map(|resource| &resource.property);
    let found = properties.into_iter().find(|property| property.name == INSTANCE_POLICY)?;
    Some((found.value.as_text()?, found.place))
}

/// Maximum number of priorities named in a finding.
const MOST_NAMED: usize = 10;

/// Returns the first priorities of lanes as text, for a finding.
fn named(lanes: &BTreeSet<i16>) -> String {
    let first: Vec<String> = lanes.iter().take(MOST_NAMED).map(i16::to_string).collect();
    let rest = match lanes.len().checked_sub(MOST_NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    format!("[{}]{rest}", first.join(", "))
}

/// Bands of priorities by their lower ends, with overlapping ones merged.
type Bands = BTreeMap<i16, i16>;

fn is_in(bands: &Bands, priority: i16) -> bool {
    let last = bands.range(..=priority).next_back();
    last.is_some_and(|(_, high)| *high >= priority)
}

struct Checked<'c> {
    pools: HashMap<&'c str, &'c Threadpool>,
    /// Priorities of lanes, by pool.
    laned: HashMap<&'c str, BTreeSet<i16>>,
    bands: HashMap<&'c str, (&'c ConnectionBands, Bands)>,
    sets: HashMap<&'c str, &'c PolicySet>,
    findings: Vec<Finding>,
    /// Findings with positions in the plan.
    in_plan: Vec<Finding>,
}

impl<'c> Checked<'c> {
    fn of(configs: &'c OrbConfigs) -> Checked<'c> {
        let mut checked = Checked {
            pools: HashMap::new(),
            laned: HashMap::new(),
            bands: HashMap::new(),
            sets: HashMap::new(),
            findings: Vec::new(),
            in_plan: Vec::new(),
        };
        let mut ids: HashMap<&str, Place> = HashMap::new();
        let mut declare = |id: &'c str, place: Place, findings: &mut Vec<Finding>| {
            if let Some(first) = ids.insert(id, place) {
                findings.push(Finding::error(
                    place,
                    format!("id {id:?} occurs twice, first at {first}"),
                ));
            }
        };
        if let Some(resources) = &configs.resources {
            for pool in &resources.threadpool {
                declare(&pool.id.0, pool.place, &mut checked.findings);
                checked.pools.insert(&pool.id.0, pool);
                let threads = pool.static_threads.saturating_add(pool.dynamic_threads);
                checked.threads(&pool.id.0, threads, pool.place);
                checked.buffering(
                    &pool.id.0,
                    pool.allow_request_buffering,
                    pool.max_buffered_requests,
                    pool.place,
                );
            }
            for pool in &resources.threadpool_with_lanes {
                declare(&pool.id.0, pool.place, &mut checked.findings);
                let lanes = pool.lane.iter().map(|lane| lane.priority.0).collect();
                checked.laned.insert(&pool.id.0, lanes);
                checked.lanes(pool);
                checked.buffering(
                    &pool.id.0,
                    pool.allow_request_buffering,
                    pool.max_buffered_requests,
                    pool.place,
                );
            }
            for bands in &resources.connection_bands {
                declare(&bands.id.0, bands.place, &mut checked.findings);
                let found = checked.banded(bands);
                checked.bands.insert(&bands.id.0, (bands, found));
            }
        }
        for set in &configs.policy_set {
            declare(&set.id.0, set.place, &mut checked.findings);
            checked.sets.insert(&set.id.0, set);
        }
        checked
    }

    fn wrong(&mut self, place: Place, what: String, cure: &str) {
        self.findings.push(Finding::error(place, what).cure(cure));
    }

    fn threads(&mut self, id: &str, threads: u32, place: Place) {
        if threads == 0 {
            self.wrong(
                place,
                format!("pool {id:?} has no threads"),
                "set static_threads to at least 1",
            );
        }
    }

    fn buffering(&mut self, id: &str, allowed: bool, most: u32, place: Place) {
        if !allowed && most > 0 {
            let what = format!(
                "pool {id:?} does not buffer requests, but sets a limit of {most} buffered requests"
            );
            self.findings.push(
                Finding::warning(place, what)
                    .cure("set allow_request_buffering, or max_buffered_requests to 0"),
            );
        }
    }

    fn lanes(&mut self, pool: &ThreadpoolWithLanes) {
        if pool.lane.is_empty() {
            self.wrong(
                pool.place,
                format!("pool {:?} has no lane", pool.id.0),
                "add one, or use a threadpool",
            );
        }
        let mut seen = HashSet::new();
        for Lane { static_threads, dynamic_threads, priority, place } in &pool.lane {
            let name = format!("{} at priority {}", pool.id.0, priority.0);
            self.threads(&name, static_threads.saturating_add(*dynamic_threads), *place);
            if !seen.insert(priority.0) {
                let what = format!("pool {:?} has two lanes of priority {}", pool.id.0, priority.0);
                self.wrong(*place, what, "combine them");
            }
        }
    }

    fn banded(&mut self, bands: &ConnectionBands) -> Bands {
        if bands.band.is_empty() {
            self.wrong(bands.place, format!("{:?} has no band", bands.id.0), "add one");
        }
        let mut taken = Bands::new();
        for band in &bands.band {
            let (low, high) = (band.low.0, band.high.0);
            if low > high {
                self.wrong(
                    band.place,
                    format!("a band from {low} to {high} is empty"),
                    "exchange low and high",
                );
                continue;
            }
            let before = taken.range(..=high).next_back();
            match before.filter(|(_, end)| **end >= low).map(|(other, end)| (*other, *end)) {
                None => drop(taken.insert(low, high)),
                Some((other, end)) => {
                    let what = format!("bands {low} to {high} and {other} to {end} overlap");
                    self.wrong(band.place, what, "each priority must be in one band");
                    taken.remove(&other);
                    taken.insert(low.min(other), high.max(end));
                }
            }
        }
        taken
    }

    fn set(&mut self, set: &PolicySet) {
        let id = &set.id.0;
        let pool = set.threadpool.as_ref();
        if let Some(to) =
            pool.filter(|to| !self.pools.contains_key(&*to.id) && !self.laned.contains_key(&*to.id))
        {
            self.wrong(
                to.place,
                format!("policy set {id:?} uses pool {:?}, which does not exist", to.id),
                "declare it in resources",
            );
        }
        // Moved out of `self`, because `priorities` borrows `self` mutably to add findings.
        let laned = std::mem::take(&mut self.laned);
        let lanes = pool.and_then(|to| laned.get(&*to.id));
        self.priorities(set, lanes);
        self.laned = laned;
    }

    /// Checks the priorities of a set against its lanes and bands.
    fn priorities(&mut self, set: &PolicySet, lanes: Option<&BTreeSet<i16>>) {
        let id = &set.id.0;
        let model = set.priority_model.as_ref();
        let declared =
            model.filter(|model| model.priority_model == PriorityModelKind::ServerDeclared);
        if let (Some(model), Some(lanes)) = (declared, lanes)
            && !lanes.contains(&model.server_priority.0)
        {
            let what = format!(
                "policy set {id:?} declares priority {}, but its pool has no lane with this priority, only {}",
                model.server_priority.0,
                named(lanes)
            );
            self.wrong(
                model.place,
                what,
                "add a lane with this priority, or declare one of the existing priorities",
            );
        }
        if model.is_none() && lanes.is_some() {
            let what = format!("policy set {id:?} has lanes, but no priority model");
            self.wrong(set.place, what, "add a priorityModel, which selects the lane of a request");
        }
        let Some(to) = &set.priority_banded_connection else {
            return;
        };
        let Some((_, bands)) = self.bands.get(&*to.id) else {
            self.wrong(
                to.place,
                format!("policy set {id:?} uses bands {:?}, which do not exist", to.id),
                "declare them in resources",
            );
            return;
        };
        let asked: Vec<i16> = match declared {
            Some(model) => vec![model.server_priority.0],
            None => lanes.into_iter().flatten().copied().collect(),
        };
        let outside = asked.into_iter().filter(|&one| !is_in(bands, one));
        let outside: Vec<i16> = outside.take(MOST_NAMED).collect();
        for priority in outside {
            let what =
                format!("priority {priority} of policy set {id:?} is in no band of {:?}", to.id);
            self.wrong(
                to.place,
                what,
                "add a band that contains it: a client opens connections only for bands",
            );
        }
    }

    fn attachments(&mut self, plan: &Plan, resources: &ServerResources) {
        let instances: HashSet<&str> = plan.instance.iter().map(|one| &*one.name).collect();
        let connections: HashSet<&str> = plan.connection.iter().map(|one| &*one.name).collect();
        let cure = format!("it has {}", listed(plan.instance.iter().map(|one| &*one.name)));
        let mut seen: HashMap<&str, Place> = HashMap::new();
        let mut used: HashSet<String> = HashSet::new();
        for Attachment { name, policy_set, receptacle_policy, place, .. } in &resources.instance {
            if let Some(first) = seen.insert(name, *place) {
                self.wrong(
                    *place,
                    format!("instance {name:?} occurs twice, first at {first}"),
                    "combine them",
                );
            }
            if !instances.contains(&**name) {
                self.wrong(*place, format!("the plan has no instance {name:?}"), &cure);
            }
            for TextRef { id, place } in policy_set.iter().chain(receptacle_policy) {
                used.insert(id.clone());
                if !self.sets.contains_key(&**id) {
                    self.wrong(
                        *place,
                        format!("instance {name:?} uses policy set {id:?}, which does not exist"),
                        "declare it in orbConfigs",
                    );
                }
            }
        }
        for instance in &plan.instance {
            let Some((id, place)) = deployed_policy(instance) else {
                continue;
            };
            used.insert(id.to_owned());
            if !self.sets.contains_key(id) {
                let what = format!(
                    "instance {:?} uses policy set {id:?}, which the resources do not declare",
                    instance.name
                );
                self.in_plan.push(Finding::error(place, what));
            }
        }
        for connection in &resources.connection {
            if !connections.contains(&*connection.name) {
                self.wrong(
                    connection.place,
                    format!("the plan has no connection {:?}", connection.name),
                    "use its name in the plan",
                );
            }
        }
        for (id, set) in &self.sets {
            if !used.contains(*id) {
                self.findings.push(Finding::warning(
                    set.place,
                    format!("no instance uses policy set {id:?}"),
                ));
            }
        }
    }

    /// Checks that servers provide what their clients require.
    fn connections(&mut self, plan: &Plan, resources: &ServerResources) {
        let instances: HashMap<&str, &Instance> =
            plan.instance.iter().map(|one| (&*one.id.0, one)).collect();
        let lookup = Lookup::of(resources);
        let of = |id: &str| instances.get(id).map(|instance| (*instance, lookup.accepts(instance)));
        for connection in plan.connection.iter().filter(|one| !too_many_pairs(one)) {
            let (mut no_lane, mut no_band) = (false, false);
            let (providers, users): (Vec<_>, Vec<_>) =
                connection.internal_endpoint.iter().partition(|end| end.kind.provides());
            for (user, provider) in
                users.iter().flat_map(|user| providers.iter().map(move |provider| (user, provider)))
            {
                let (Some((client, own)), Some((server, theirs))) =
                    (of(&user.instance.id), of(&provider.instance.id))
                else {
                    continue;
                };
                let own = match own {
                    Accepts::Declared(priority) | Accepts::Ordinary(Some(priority)) => {
                        Some(priority)
                    }
                    Accepts::Propagated { .. } | Accepts::Ordinary(None) => None,
                };
                let events =
                    lookup.attachment(&client.name).and_then(|attachment| attachment.events);
                let is_carried =
                    user.kind.is_event() && events.is_some_and(|it| it != Events::Direct);
                // A channel pushes at the priority that the consumer declares.
                let own = match theirs {
                    Accepts::Propagated { default, .. } if is_carried => Some(default),
                    _ => own,
                };
                if let (Some(priority), Accepts::Propagated { lanes: Some(lanes), .. }) =
                    (own, &theirs)
                    && !lanes.contains(&priority)
                    && !std::mem::replace(&mut no_lane, true)
                {
                    let what = format!(
                        "{:?} calls {:?} at priority {priority}, which uses the caller's priority, and has only lanes \
                         {}",
                        client.name,
                        server.name,
                        named(lanes)
                    );
                    let place = lookup
                        .attachment(&server.name)
                        .map(|attachment| attachment.place)
                        .unwrap_or_default();
                    self.wrong(
                        place,
                        what,
                        "add a lane with this priority, or let the server declare its own",
                    );
                }
                let bands = lookup
                    .attachment(&client.name)
                    .and_then(|attachment| attachment.receptacle_policy.as_ref());
                let bands = bands
                    .and_then(|to| lookup.policy_set(&to.id)?.priority_banded_connection.as_ref());
                let bands = bands.and_then(|to| self.bands.get(&*to.id));
                let asked = match theirs {
                    Accepts::Declared(priority) => Some(priority),
                    _ => own,
                };
                if let (Some((bands, all)), Some(priority)) = (bands, asked)
                    && !is_in(all, priority)
                    && !std::mem::replace(&mut no_band, true)
                {
                    let what = format!(
                        "{:?} calls {:?} at priority {priority}, which is in no band of {:?}",
                        client.name, server.name, bands.id.0
                    );
                    let place = bands.place;
                    self.wrong(place, what, "add a band that contains it");
                }
            }
        }
    }
}
