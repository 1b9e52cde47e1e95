//! RT-CORBA policies of a POA, and their valid combinations (RT-CORBA 1.2, 5.8).

use std::num::NonZeroU32;

use oxorb_core::policy::ProtocolList;
use oxorb_core::{Orb, Serving, ThreadpoolId, ThreadpoolLanes};
use oxorb_object::{PriorityBands, PriorityModel, PriorityModelPolicy};

use crate::policies::{InvalidPolicy, Policies, Policy, ThreadPolicy};

/// Real-time part of [`Policies`]. The default has no policy set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RtPolicies {
    /// PriorityModelPolicy, type 40: whether the client or the server determines the priority of
    /// requests.
    pub priority_model: Option<PriorityModelPolicy>,
    /// ThreadpoolPolicy, type 41: the threadpool that serves requests. `None` selects the ORB's own
    /// threads.
    pub threadpool: Option<ThreadpoolId>,
    /// ServerProtocolPolicy, type 42: the protocols whose profiles references contain, in this
    /// order. The properties apply to connections that the POA's threadpool, or the ORB, accepts
    /// from then on; the first POA with such a policy decides for all that share the threadpool or
    /// the ORB's threads.
    pub server_protocols: Option<ProtocolList>,
    /// ClientProtocolPolicy, type 43, published to clients in references.
    pub client_protocols: Option<ProtocolList>,
    /// PriorityBandedConnectionPolicy, type 45, published to clients in references.
    pub priority_bands: Option<PriorityBands>,
    /// Maximum rate of replies, in octets per second, over each connection that the POA's
    /// threadpool, or the ORB, accepts from then on; the first POA with such a policy decides for
    /// all that share them. Specific to OxORB. TCP paces its packets accordingly
    /// (SO_MAX_PACING_RATE); protocols without pacing ignore the policy.
    pub reply_bandwidth: Option<NonZeroU32>,
    /// Whether requests with a period (`RequestQos`) are scheduled rate-monotonically while they
    /// run: the shorter the period, the higher the native priority, within the band of their
    /// priority, or between the priority of their lane and that of the next one. Specific to OxORB.
    /// Under `SCHED_FIFO` and `SCHED_RR` such a request costs two additional system calls; other
    /// requests cost nothing more.
    pub rate_monotonic: bool,
}

impl RtPolicies {
    /// Reports whether no policy is set.
    pub fn is_empty(&self) -> bool {
        *self == RtPolicies::default()
    }

    pub(crate) fn to_list(self) -> impl Iterator<Item = Policy> {
        [
            self.priority_model.map(Policy::PriorityModel),
            self.threadpool.map(Policy::Threadpool),
            self.server_protocols.map(Policy::ServerProtocol),
            self.client_protocols.map(Policy::ClientProtocol),
            self.priority_bands.map(Policy::PriorityBands),
            self.reply_bandwidth.map(Policy::ReplyBandwidth),
            self.rate_monotonic.then_some(Policy::RateMonotonic),
        ]
        .into_iter()
        .flatten()
    }
}

/// Policies that the rules check, with the threadpool and the ORB that they concern.
struct Candidate<'a> {
    policies: &'a RtPolicies,
    thread: ThreadPolicy,
    /// Lanes of the named threadpool, if it exists.
    lanes: Option<&'a ThreadpoolLanes>,
    /// The ORB, if it still exists.
    orb: Option<&'a Orb>,
}

/// Rejected combination of policies.
struct Rule {
    text: &'static str,
    broken: fn(&Candidate<'_>) -> bool,
    /// Reports whether the rule involves a policy.
    party: fn(&Policy) -> bool,
}

/// Checks all rules; `list` contains the policies that were named.
pub(crate) fn check(
    policies: &Policies,
    list: &[Policy],
    lanes: Option<&ThreadpoolLanes>,
    orb: Option<&Orb>,
) -> Result<(), InvalidPolicy> {
    let candidate = Candidate { policies: &policies.realtime, thread: policies.thread, lanes, orb };
    let broken = RULES.iter().filter(|rule| (rule.broken)(&candidate));
    let indices = broken.map(|rule| {
        let party = list.iter().position(|policy| (rule.party)(policy));
        (party.unwrap_or_default() as u16, rule.text)
    });
    match indices.min_by_key(|(index, _)| *index) {
        Some((index, rule)) => Err(InvalidPolicy { index, rule }),
        None => Ok(()),
    }
}

impl Candidate<'_> {
    fn has_lanes(&self) -> bool {
        self.lanes.is_some_and(|lanes| lanes.has_lanes)
    }

    fn has_lane(&self, wanted: impl Fn(i16) -> bool) -> bool {
        self.lanes.is_some_and(|lanes| {
            let mut priorities = lanes.priorities.iter();
            priorities.any(|priority| wanted(priority.get()))
        })
    }

    fn declared(&self) -> Option<i16> {
        let policy = self.policies.priority_model?;
        (policy.model == PriorityModel::ServerDeclared).then_some(policy.server_priority)
    }
}

const RULES: [Rule; 14] = [
    Rule {
        text: "threadpool: there is no such threadpool",
        broken: |c| c.policies.threadpool.is_some() && c.lanes.is_none(),
        party: is_threadpool,
    },
    Rule {
        text: "priority_model: priorities must be from 0 to 32767",
        broken: |c| c.policies.priority_model.is_some_and(|policy| policy.server_priority < 0),
        party: is_model,
    },
    Rule {
        text: "threadpool: a threadpool with lanes needs a priority_model",
        broken: |c| c.has_lanes() && c.policies.priority_model.is_none(),
        party: is_threadpool,
    },
    Rule {
        text: "priority_bands: bands need a priority_model",
        broken: |c| c.policies.priority_bands.is_some() && c.policies.priority_model.is_none(),
        party: is_bands,
    },
    Rule {
        text: "rate_monotonic: priorities by period need a priority_model",
        broken: |c| c.policies.rate_monotonic && c.policies.priority_model.is_none(),
        party: |policy| matches!(policy, Policy::RateMonotonic),
    },
    Rule {
        text: "priority_bands: the list contains no band",
        broken: |c| c.policies.priority_bands.is_some_and(|bands| bands.is_empty()),
        party: is_bands,
    },
    Rule {
        text: "priority_bands: a band must go from low to high, 0 to 32767",
        broken: |c| {
            let upside_down = |bands: PriorityBands| {
                let mut bands = bands.iter();
                bands.any(|band| band.low < 0 || band.low > band.high)
            };
            c.policies.priority_bands.is_some_and(upside_down)
        },
        party: is_bands,
    },
    Rule {
        text: "priority_model: the server-declared priority lies in no band",
        broken: |c| {
            c.declared()
                .zip(c.policies.priority_bands)
                .is_some_and(|(priority, bands)| !bands.iter().any(|band| band.contains(priority)))
        },
        party: |policy| is_model(policy) || is_bands(policy),
    },
    Rule {
        text: "priority_bands: no lane of the threadpool lies in one of the bands",
        broken: |c| {
            let without = |bands: PriorityBands| {
                let mut bands = bands.iter();
                bands.any(|band| !c.has_lane(|priority| band.contains(priority)))
            };
            c.has_lanes() && c.policies.priority_bands.is_some_and(without)
        },
        party: |policy| is_threadpool(policy) || is_bands(policy),
    },
    Rule {
        text: "priority_model: no lane of the threadpool has the server-declared priority",
        broken: |c| {
            c.has_lanes()
                && c.policies.priority_bands.is_none()
                && c.declared().is_some_and(|wanted| !c.has_lane(|priority| priority == wanted))
        },
        party: |policy| is_model(policy) || is_threadpool(policy),
    },
    Rule {
        text: "thread: the main thread does not have the priority of a lane; remove MainThread or the lanes",
        broken: |c| c.has_lanes() && c.thread == ThreadPolicy::MainThread,
        party: |policy| is_thread(policy) || is_threadpool(policy),
    },
    Rule {
        text: "thread: of requests that run one at a time, each would block a thread; remove SingleThread, or use a \
               threadpool without a thread for each request",
        broken: |c| {
            let for_each = |lanes: &ThreadpoolLanes| lanes.serving == Serving::ThreadPerRequest;
            c.thread == ThreadPolicy::SingleThread && c.lanes.is_some_and(for_each)
        },
        party: |policy| is_thread(policy) || is_threadpool(policy),
    },
    Rule {
        text: "server_protocols: each must be a protocol of the ORB, specified by the tag of its profiles (0: IIOP)",
        broken: |c| {
            c.policies.server_protocols.is_some_and(|protocols| {
                let table = c.orb.map(|orb| &orb.options().protocols);
                let spoken = |tag| table.is_some_and(|table| table.tagged(tag).is_some());
                !protocols.iter().all(|each| spoken(each.protocol_type))
            })
        },
        party: is_server_protocols,
    },
    Rule {
        text: "server_protocols: the ORB listens with none of them; add an endpoint of one to -ORBListenEndpoints",
        broken: |c| {
            let Some(protocols) = c.policies.server_protocols else {
                return false;
            };
            // The rule applies only to POAs without a threadpool, because lanes have endpoints of
            // their own.
            let heard = |tag| c.orb.is_none_or(|orb| orb.listens_with(tag));
            c.policies.threadpool.is_none() && !protocols.iter().any(|one| heard(one.protocol_type))
        },
        party: is_server_protocols,
    },
];

fn is_server_protocols(policy: &Policy) -> bool {
    matches!(policy, Policy::ServerProtocol(_))
}

fn is_thread(policy: &Policy) -> bool {
    matches!(policy, Policy::Thread(_))
}

fn is_model(policy: &Policy) -> bool {
    matches!(policy, Policy::PriorityModel(_))
}

fn is_threadpool(policy: &Policy) -> bool {
    matches!(policy, Policy::Threadpool(_))
}

fn is_bands(policy: &Policy) -> bool {
    matches!(policy, Policy::PriorityBands(_))
}
