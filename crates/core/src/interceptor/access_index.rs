//! Access rules, indexed so that no request is compared with each of them.
//!
//! Each condition of a request selects a set of rules: those that name its operation or no operation, those that name
//! its interface or no interface, and so on. A set has one bit per rule. The sets of names are computed once and found
//! by binary search; the set of a peer is computed once per connection. The first rule that is in all sets decides; the
//! sets are intersected 64 rules at a time.

use std::sync::Arc;

use oxorb_transport::{Link, PeerId};

use super::access_rates::{ClientRates, RateBucket};
use super::access_rules::{AccessRule, AccessRules, usual};
use crate::threads::sync::uncontrolled::atomic::{AtomicU64, Ordering};

/// Set of rules, with one bit per rule.
type Set = Box<[u64]>;

/// Index of the rules about requests. A lookup allocates nothing and takes no lock.
pub(crate) struct AccessIndex {
    /// Number of the index; a later index of this process has a greater one.
    pub(crate) generation: u64,
    pub(crate) rules: Arc<AccessRules>,
    /// Positions of the rules with a limit, ascending.
    limited: Box<[usize]>,
    rates: ClientRates,
    operations: Names,
    interfaces: Names,
    /// `None` if no rule names objects.
    objects: Option<Names>,
}

/// Rules that concern the peer of a connection.
pub(crate) struct Visit {
    /// Number of the index that the rules belong to.
    pub(crate) generation: u64,
    /// Whether the peer is this process, to which the rules do not apply.
    itself: bool,
    /// Rules that concern the peer.
    rules: Set,
    /// Buckets of the client, in the order of the rules with a limit; empty if none of these concerns the peer.
    buckets: Arc<[RateBucket]>,
}

/// Sets of rules by the names that they match.
struct Names {
    /// Complete names, sorted.
    whole: Vec<(Box<str>, Set)>,
    /// Prefixes of names, sorted.
    beginnings: Vec<Beginning>,
    /// Rules that match every other name.
    others: Set,
}

struct Beginning {
    text: Box<str>,
    set: Set,
    /// Index of the longest other prefix that this one begins with.
    shorter: Option<usize>,
}

impl AccessIndex {
    pub(crate) fn new(rules: &Arc<AccessRules>) -> Self {
        static GENERATIONS: AtomicU64 = AtomicU64::new(1);
        let all = &rules.rules;
        let patterns = |of: fn(&AccessRule) -> &[String]| {
            Names::new(all.len(), all.iter().map(of), |text| text.strip_suffix('*'))
        };
        let names_objects = all.iter().any(|rule| !rule.objects.is_empty());
        let limit = |rule: &AccessRule| rule.limit.filter(|_| rule.allow);
        let limited = all.iter().enumerate().filter(|(_, rule)| limit(rule).is_some());
        Self {
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
            limited: limited.map(|(at, _)| at).collect(),
            rates: ClientRates::new(all.iter().filter_map(limit)),
            operations: patterns(|it| &it.operations),
            interfaces: patterns(|it| &it.interfaces),
            objects: names_objects.then(|| patterns(|it| &it.objects)),
            rules: Arc::clone(rules),
        }
    }

    /// Reports whether some rule names objects.
    #[inline]
    pub(crate) fn asks_for_objects(&self) -> bool {
        self.objects.is_some()
    }

    /// Returns the rules that concern the peer of a connection. Inspects each rule, and takes a lock if one of them has
    /// a limit.
    pub(crate) fn visit(&self, link: &dyn Link) -> Visit {
        self.visit_of(&link.identity(), link.is_protected())
    }

    fn visit_of(&self, peer: &PeerId, protected: bool) -> Visit {
        let concerns = |rule: &AccessRule| {
            rule.tokens.is_empty()
                && rule.protected.is_none_or(|wanted| wanted == protected)
                && (rule.who.is_open() || rule.who.concerns(peer))
        };
        let mut rules = nothing(self.rules.rules.len());
        let all = self.rules.rules.iter().enumerate();
        for (at, _) in all.filter(|(_, rule)| concerns(rule)) {
            add(&mut rules, at);
        }
        let itself = *peer == PeerId::Process;
        let is_limited = !itself && self.limited.iter().any(|&at| has(&rules, at));
        let buckets = match is_limited {
            true => self.rates.of(peer),
            false => Arc::default(),
        };
        Visit { generation: self.generation, itself, rules, buckets }
    }

    /// Returns the token bucket of the visit's client for a rule; `None` if the rule has no limit.
    pub(crate) fn bucket<'v>(&self, visit: &'v Visit, rule: usize) -> Option<&'v RateBucket> {
        if visit.buckets.is_empty() {
            return None;
        }
        visit.buckets.get(self.limited.binary_search(&rule).ok()?)
    }

    /// Returns the position of the deciding rule, if any, and whether the request is to be served. `object` has the
    /// form of [`AccessRule::objects`], and is used only if [`asks_for_objects`](Self::asks_for_objects).
    pub(crate) fn decide(
        &self,
        visit: &Visit,
        interface: &str,
        object: &str,
        operation: &str,
    ) -> (Option<usize>, bool) {
        if visit.itself {
            return (None, true);
        }
        let interfaces = self.interfaces.of(interface);
        let operations = self.operations.of(usual(operation));
        let objects = self.objects.as_ref().map(|names| names.of(object));
        for (at, concerned) in visit.rules.iter().enumerate() {
            let object = objects.map_or(u64::MAX, |set| set[at]);
            let met = concerned & interfaces[at] & operations[at] & object;
            if met != 0 {
                let rule = at * 64 + met.trailing_zeros() as usize;
                return (Some(rule), self.rules.rules[rule].allow);
            }
        }
        (None, self.rules.allow)
    }
}

impl Names {
    /// Builds the sets. `names` are the names that each rule matches; a rule without names matches any name.
    /// `beginning` returns the prefix that a pattern stands for, or `None` for a complete name.
    fn new<'n>(
        rules: usize,
        names: impl Iterator<Item = &'n [String]> + Clone,
        beginning: fn(&str) -> Option<&str>,
    ) -> Self {
        let mut others = nothing(rules);
        let (mut whole, mut begin) = (Vec::new(), Vec::new());
        for (at, names) in names.clone().enumerate() {
            if names.is_empty() {
                add(&mut others, at);
            }
            for name in names {
                match beginning(name) {
                    Some(text) => begin.push(text),
                    None => whole.push(name.as_str()),
                }
            }
        }
        for list in [&mut whole, &mut begin] {
            list.sort_unstable();
            list.dedup();
        }
        // Returns the rules that match the complete name `text` or, unless `is_whole`, every name that begins with
        // `text`.
        let set = |text: &str, is_whole: bool| {
            let mut set = others.clone();
            for (at, names) in names.clone().enumerate() {
                let meets = |name: &String| match beginning(name) {
                    Some(begin) => text.starts_with(begin),
                    None => is_whole && name == text,
                };
                if names.iter().any(meets) {
                    add(&mut set, at);
                }
            }
            set
        };
        let shorter = |at: usize| {
            let text: &str = begin[at];
            let mut before = begin[..at].iter();
            before.rposition(|other| text.starts_with(other))
        };
        let beginnings = (0..begin.len()).map(|at| Beginning {
            text: begin[at].into(),
            set: set(begin[at], false),
            shorter: shorter(at),
        });
        Self {
            whole: whole.iter().map(|it| ((*it).into(), set(it, true))).collect(),
            beginnings: beginnings.collect(),
            others,
        }
    }

    /// Returns the rules that match a name.
    fn of(&self, name: &str) -> &[u64] {
        let found = self.whole.binary_search_by(|(text, _)| (**text).cmp(name));
        if let Ok(at) = found {
            return &self.whole[at].1;
        }
        // Every entry between a prefix of the name and the name itself begins with that prefix. The links `shorter`
        // from the last entry before the name therefore lead to its longest prefix.
        let behind = self.beginnings.partition_point(|it| *it.text <= *name);
        let mut at = behind.checked_sub(1);
        while let Some(place) = at {
            let beginning = &self.beginnings[place];
            if name.starts_with(&*beginning.text) {
                return &beginning.set;
            }
            at = beginning.shorter;
        }
        &self.others
    }
}

fn nothing(rules: usize) -> Set {
    vec![0; rules.div_ceil(64)].into()
}

fn add(set: &mut Set, rule: usize) {
    set[rule / 64] |= 1 << (rule % 64);
}

fn has(set: &[u64], rule: usize) -> bool {
    set[rule / 64] >> (rule % 64) & 1 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interceptor::access_rules::{AccessRequest, write_object};
    use crate::scheduler::budget::RequestRate;

    /// Returns a pseudo-random number below `bound`.
    fn below(state: &mut u64, bound: usize) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state % bound as u64) as usize
    }

    fn some(state: &mut u64, from: &[&str]) -> Vec<String> {
        let count = [0, 0, 1, 2][below(state, 4)];
        let one = |_| from[below(state, from.len())].to_owned();
        (0..count).map(one).collect()
    }

    const INTERFACES: [&str; 7] = [
        "IDL:bank/Account:1.0",
        "IDL:bank/*",
        "IDL:*",
        "*",
        "IDL:bank/Acc*",
        "IDL:bank/Teller:1.0",
        "IDL:stock/*",
    ];
    const OBJECTS: [&str; 7] =
        ["accounts/*", "accounts/alice", "accounts/b*", "accounts/bob", "0x00", "*", "accounts"];
    const OPERATIONS: [&str; 6] = ["balance", "close", "_get_day", "*", "cl*", "_non_existent"];
    const PARTIES: [&str; 4] = ["uid:7", "gid:1", "10.0.0.0/8", "all"];

    fn rules(state: &mut u64, count: usize) -> AccessRules {
        let rule = |_| {
            let mut rule = AccessRule {
                allow: below(state, 2) == 0,
                interfaces: some(state, &INTERFACES),
                objects: some(state, &OBJECTS),
                operations: some(state, &OPERATIONS),
                protected: [None, None, Some(true), Some(false)][below(state, 4)],
                tokens: [vec![], vec![], vec![], vec!["*".to_owned()]][below(state, 4)].clone(),
                ..AccessRule::default()
            };
            for party in some(state, &PARTIES) {
                rule.who.add(true, &party).unwrap();
            }
            rule
        };
        AccessRules {
            place: String::new(),
            rules: (0..count).map(rule).collect(),
            allow: below(state, 2) == 0,
        }
    }

    /// Compares the index with a linear search of the rules.
    #[test]
    fn decides_as_the_rules_one_by_one() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let peers = [
            PeerId::Process,
            PeerId::Unknown,
            PeerId::Ip("10.1.2.3".parse().unwrap()),
            PeerId::Ip("11.1.2.3".parse().unwrap()),
            PeerId::User { uid: 7, gid: 2, pid: 3 },
        ];
        for count in [0, 1, 3, 63, 64, 65, 200] {
            for _ in 0..20 {
                let rules = Arc::new(rules(&mut state, count));
                let index = AccessIndex::new(&rules);
                for peer in &peers {
                    for protected in [true, false] {
                        let visit = index.visit_of(peer, protected);
                        for interface in
                            ["IDL:bank/Account:1.0", "IDL:bank/Acorn:1.0", "IDL:a", "x"]
                        {
                            for id in ["alice", "bob", "bo", "ben", "\0"] {
                                for operation in ["balance", "close", "other", "*", "_not_existent"]
                                {
                                    let mut object = String::new();
                                    let names = ["accounts"].into_iter();
                                    write_object(&mut object, names, id.as_bytes());
                                    let object = object.as_str();
                                    let asked = AccessRequest {
                                        peer,
                                        protected,
                                        token: None,
                                        interface,
                                        object,
                                        operation,
                                    };
                                    let found = index.decide(&visit, interface, object, operation);
                                    let (rule, serves) = rules.decide(&asked);
                                    assert_eq!(found.1, serves);
                                    let decided = found.0.map(|at| &rules.rules[at]);
                                    assert!(match (decided, rule) {
                                        (Some(one), Some(other)) => std::ptr::eq(one, other),
                                        (one, other) => one.is_none() && other.is_none(),
                                    });
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn rules_with_a_limit_have_buckets_of_each_client_and_others_have_none() {
        let rule = |allow, limit, operation: &str| AccessRule {
            allow,
            limit,
            operations: vec![operation.to_owned()],
            ..AccessRule::default()
        };
        let rate = |burst| Some(RequestRate { per_second: 1, burst });
        let mut mine = rule(true, rate(3), "mine");
        mine.who.add(true, "uid:7").unwrap();
        let rules = vec![
            rule(true, None, "free"),
            rule(false, rate(9), "denied"),
            rule(true, rate(1), "one"),
            mine,
            rule(true, rate(2), "two"),
        ];
        let rules = Arc::new(AccessRules { place: String::new(), allow: true, rules });
        let index = AccessIndex::new(&rules);
        let served = |uid, pid, operation| {
            let visit = index.visit_of(&PeerId::User { uid, gid: 1, pid }, false);
            let taken = || {
                let (rule, serves) = index.decide(&visit, "", "", operation);
                let bucket = rule.and_then(|rule| index.bucket(&visit, rule));
                serves && bucket.is_none_or(|bucket| bucket.take(1_000))
            };
            (0..20).filter(|_| taken()).count()
        };
        for (uid, mine) in [(7, 3), (8, 20)] {
            assert_eq!(served(uid, 1, "free"), 20);
            assert_eq!(served(uid, 1, "denied"), 0);
            assert_eq!(served(uid, 1, "one"), 1);
            assert_eq!(served(uid, 1, "mine"), mine, "of user {uid}; user 8 has the default");
            assert_eq!(served(uid, 1, "two"), 2);
            assert_eq!(served(uid, 2, "two"), 0, "another connection of user {uid}");
        }
        let later = AccessIndex::new(&rules);
        assert!(later.generation > index.generation);
    }
}
