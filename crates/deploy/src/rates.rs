//! Rates that a container enforces: work whose `beyond` is `refuse`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use oxorb_sched::time::{Nanos, SECOND};

use crate::finding::{Finding, Source};
use crate::model::basic::Property;
use crate::model::plan::Instance;
use crate::model::rtcad::{Attachment, Beyond, Period, Work};

/// Number of calls that may reach a port at once, unless the document declares another number: a call that is late by a
/// period, and the next one.
pub(crate) const BURST: u32 = 2;

/// Highest rate at which a port lets events or calls through.
///
/// A port accepts at most `(t + tolerance) / period + 1` events or calls in any interval of length `t`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnforcedRate {
    /// Name of the facet, sink or source.
    pub port: String,
    /// Whether the port is a source. Otherwise, it is a facet or a sink.
    pub is_source: bool,
    /// Time between two events or calls, in nanoseconds.
    pub period: Nanos,
    /// Time by which a call or event may come too early, in nanoseconds.
    pub tolerance: Nanos,
}

/// Returns the rates that the container of an instance enforces: those of its ports, and of the sources of work
/// without a port. Takes time linear in the instance and its works.
///
/// # Errors
/// A finding in the real-time resources: work that is refused beyond a rate that it does not have, or a source or port
/// with several rates.
pub fn enforced_rates(
    instance: &Instance,
    attachment: &Attachment,
) -> Result<Vec<EnforcedRate>, Finding> {
    let mut rates = Vec::new();
    let periods = Periods::new(instance);
    for work in &attachment.work {
        match (&work.port, work.beyond) {
            (_, None | Some(Beyond::Allow)) => no_burst(instance, work)?,
            (Some(port), Some(Beyond::Refuse)) => rates.push(of_port(instance, port, work)?),
            (None, Some(Beyond::Refuse)) => {
                no_burst(instance, work)?;
                rates.extend(of_sources(instance, work, periods.of(work)?)?);
            }
        }
    }
    alone(instance, attachment)?;
    Ok(rates)
}

/// Returns the rate of a facet or sink.
fn of_port(instance: &Instance, port: &str, work: &Work) -> Result<EnforcedRate, Finding> {
    let name = &instance.name;
    let Some(Period(period)) = work.most_rate else {
        let what = format!("work of {name:?} at port {port:?} has beyond, but no mostRate");
        return Err(wrong(work, what, "specify mostRate = \"20 Hz\""));
    };
    let Some(more) = work.burst.unwrap_or(BURST).checked_sub(1) else {
        let what = format!("work of {name:?} at port {port:?} has a burst of 0");
        return Err(wrong(work, what, "specify burst = 1 or more"));
    };
    Ok(EnforcedRate {
        port: port.to_owned(),
        is_source: false,
        period,
        tolerance: period.saturating_mul(more.into()),
    })
}

fn no_burst(instance: &Instance, work: &Work) -> Result<(), Finding> {
    let Some(_) = work.burst else {
        return Ok(());
    };
    let what = format!("work of {:?} has a burst, but enforces no rate of a port", instance.name);
    Err(wrong(work, what, "remove it, or add mostRate and beyond = \"refuse\" to work at a port"))
}

/// Returns the rates of the sources of work without a port: in each period as many events as `emits` lists, from the
/// release of the work to its deadline.
fn of_sources(
    instance: &Instance,
    work: &Work,
    whole: Nanos,
) -> Result<Vec<EnforcedRate>, Finding> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for source in emitted(work) {
        *counts.entry(source).or_default() += 1;
    }
    if counts.is_empty() {
        let what = format!(
            "work of {:?} without a port has beyond, but lists no sources whose rate could be enforced",
            instance.name
        );
        return Err(wrong(work, what, "list them: emits = [\"ready\"]"));
    }
    let end = work.deadline.map_or(whole, |deadline| deadline.0);
    let late = work.jitter.map_or(end, |jitter| jitter.0.max(end));
    let rates = counts.into_iter().map(|(source, count)| {
        let period = (whole / count).max(1);
        let tolerance = (whole - period).saturating_add(late);
        EnforcedRate { port: source.to_owned(), is_source: true, period, tolerance }
    });
    Ok(rates.collect())
}

/// Checks that each port with an enforced rate is used by one work alone, because the combined rate of two works would
/// be that of neither.
fn alone(instance: &Instance, attachment: &Attachment) -> Result<(), Finding> {
    let is_limited = |work: &&Work| work.beyond == Some(Beyond::Refuse);
    let mut limited = BTreeSet::new();
    let mut limited_sources = BTreeSet::new();
    for work in attachment.work.iter().filter(is_limited) {
        let own: BTreeSet<&str> = match &work.port {
            Some(port) => BTreeSet::from([port.as_str()]),
            None => emitted(work).collect(),
        };
        if let Some(port) = own.iter().find(|port| limited.contains(*port)) {
            return Err(several(instance, port, work));
        }
        if work.port.is_none() {
            limited_sources.extend(&own);
        }
        limited.extend(own);
    }
    let others = attachment.work.iter().filter(|work| !is_limited(work) || work.port.is_some());
    for work in others {
        // Work that has no port and lists no sources emits through all sources of the instance.
        let emits_through_all = work.port.is_none() && work.emits.is_empty();
        let any = limited_sources.first().filter(|_| emits_through_all).copied();
        if let Some(port) = emitted(work).chain(any).find(|port| limited.contains(port)) {
            return Err(several(instance, port, work));
        }
    }
    Ok(())
}

/// Returns the sources that work lists, each as often as it is listed.
fn emitted(work: &Work) -> impl Iterator<Item = &str> {
    work.emits.iter().map(String::as_str).filter(|source| *source != "none")
}

fn several(instance: &Instance, port: &str, work: &Work) -> Finding {
    let what = format!(
        "several work entries of {:?} use port {port:?}, whose rate is enforced",
        instance.name
    );
    wrong(
        work,
        what,
        "enforce the rate only of a port that one work entry uses, and list the emits of the other \
                       entries",
    )
}

/// Periods of an instance's works.
pub(crate) struct Periods<'i> {
    instance: &'i Instance,
    /// Values of the instance's attributes, by name; the last one if there are several.
    properties: OnceCell<HashMap<&'i str, &'i Property>>,
}

impl<'i> Periods<'i> {
    pub(crate) fn new(instance: &'i Instance) -> Self {
        Periods { instance, properties: OnceCell::new() }
    }

    /// Returns the period of work without a port.
    ///
    /// # Errors
    /// A finding in the real-time resources: it has none, or two.
    pub(crate) fn of(&self, work: &Work) -> Result<Nanos, Finding> {
        let name = &self.instance.name;
        let period = match (&work.period, &work.rate_from) {
            (Some(Period(period)), None) => Ok(*period),
            (None, Some(attribute)) => self.of_attribute(attribute),
            (None, None) => {
                Err(format!("work of {name:?} without a port has neither period nor rateFrom"))
            }
            (Some(_), Some(_)) => Err(format!("work of {name:?} has both period and rateFrom")),
        };
        period.map_err(|what| {
            wrong(work, what, "specify period = \"20 Hz\" or rateFrom = \"attribute\"")
        })
    }

    /// Returns the period of the rate that an attribute holds.
    fn of_attribute(&self, attribute: &str) -> Result<Nanos, String> {
        let name = &self.instance.name;
        let properties = self.properties.get_or_init(|| {
            let all = self.instance.config_property.iter();
            all.map(|property| (property.name.as_str(), property)).collect()
        });
        let property = properties.get(attribute).ok_or_else(|| {
            format!("the plan does not set the attribute {attribute:?} of {name:?} for its rate")
        })?;
        let hertz =
            property.value.as_number().filter(|hertz| *hertz >= 1e-6 && *hertz <= SECOND as f64);
        match hertz {
            Some(hertz) => Ok((SECOND as f64 / hertz) as Nanos),
            None => Err(format!(
                "attribute {attribute:?} of {name:?} is not a rate in Hz greater than 0"
            )),
        }
    }
}

fn wrong(work: &Work, what: String, cure: &str) -> Finding {
    Finding::error(work.place, what).cure(cure).within(Source::Rtcad)
}
