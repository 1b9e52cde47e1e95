//! The bounds that the project set itself for latency. A verdict is printed, never asserted: times
//! belong to the machine of the moment.

use std::fmt;

use crate::peers::Peer;
use crate::report::Report;

/// OxORB against one peer in one experiment: the ratio of their best medians must stay at or below `most`.
struct Bound {
    experiment: &'static str,
    against: Peer,
    most: f64,
}

/// Strictly below omniORB: to two digits, as the table shows it.
const BELOW: f64 = 0.99;

const BOUNDS: [Bound; 7] = [
    Bound::new("ping", Peer::Raw, 1.15),
    Bound::new("ping", Peer::OmniOrb, BELOW),
    Bound::new("octets-64k", Peer::Raw, 1.3),
    Bound::new("octets-64k", Peer::OmniOrb, BELOW),
    Bound::new("octets-1m", Peer::Raw, 1.2),
    Bound::new("octets-1m", Peer::OmniOrb, BELOW),
    Bound::new("samples-1024", Peer::OmniOrb, 0.7),
];

impl Bound {
    const fn new(experiment: &'static str, against: Peer, most: f64) -> Bound {
        Bound { experiment, against, most }
    }
}

/// One line for each bound.
pub(crate) struct Verdicts(Vec<(&'static Bound, Option<f64>)>);

/// Compares the run with every bound.
pub(crate) fn verdicts(report: &Report) -> Verdicts {
    let found = BOUNDS.iter().map(|bound| {
        let peer = report.of(bound.experiment, Peer::OxOrb);
        let ratio = peer.and_then(|peer| match bound.against {
            Peer::Raw => peer.to_raw,
            _ => peer.to_omniorb,
        });
        (bound, ratio.map(|ratio| ratio.best))
    });
    Verdicts(found.collect())
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bound, ratio) in &self.0 {
            let verdict = match ratio {
                Some(ratio) if *ratio <= bound.most => format!("met, {ratio:.2}"),
                Some(ratio) => format!("MISSED, {ratio:.2}"),
                None => "not measured".into(),
            };
            let Bound { experiment, against, most } = bound;
            writeln!(f, "{experiment:13} at most {most:.2} x {against:8} {verdict}")?;
        }
        Ok(())
    }
}
