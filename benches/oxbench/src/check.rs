//! Project's bounds on latency. Verdicts are printed, never asserted: times depend on the state of the machine.

use crate::bootstrap;
use crate::peers::Peer;
use crate::report::Report;
use crate::verdict::{Verdicts, at_most};

/// Greatest ratio that counts as strictly below omniORB: the table shows two digits.
const BELOW: f64 = 0.99;

/// Greatest permitted ratio of OxORB's best median in an experiment to a peer's.
const BOUNDS: [(&str, Peer, f64); 7] = [
    ("ping", Peer::Raw, 1.15),
    ("ping", Peer::OmniOrb, BELOW),
    ("octets-64k", Peer::Raw, 1.3),
    ("octets-64k", Peer::OmniOrb, BELOW),
    ("octets-1m", Peer::Raw, 1.2),
    ("octets-1m", Peer::OmniOrb, BELOW),
    ("samples-1024", Peer::OmniOrb, 0.7),
];

/// Compares the run with every bound.
pub(crate) fn verdicts(report: &Report) -> Verdicts {
    Verdicts::new(BOUNDS.map(|(experiment, against, most)| {
        let peer = report.of(experiment, Peer::OxOrb);
        let ratio = peer.and_then(|peer| match against {
            Peer::Raw => peer.to_raw,
            _ => peer.to_omniorb,
        });
        let ratio = ratio.map(|ratio| bootstrap::Ratio::exactly(ratio.best));
        at_most(format!("{experiment}, to {against}"), ratio, most)
    }))
}
