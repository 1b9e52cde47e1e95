//! Instantiation: from declarations to the threads of a system.

use std::collections::HashMap;

use super::parse::{Category, Component, Packages, Property, REFUSED, Subcomponent, is_read};
use super::tokens::{Kind, Token};
use super::{
    DEEPEST, MOST_INSTANCES, Model, ModelError, Processor, SchedulingProtocol, TextPosition, Thread,
};
use crate::time::{LONGEST, Nanos};

/// Maximum number of property values of all instances together.
const MOST_VALUES: usize = 500_000;

/// Maximum total length in octets of all paths.
const MOST_PATHS: usize = 16 << 20;

/// Value of a property, and the component that its names are relative to.
#[derive(Clone)]
struct Value<'p> {
    property: &'p Property<'p>,
    base: String,
}

/// Component of the system.
struct Instance<'p> {
    /// Path in lower case, from the system down; empty for the system.
    key: String,
    /// Path as written.
    path: String,
    category: Category,
    place: TextPosition,
    parent: Option<usize>,
    values: HashMap<&'p str, Value<'p>>,
}

struct Build<'p> {
    packages: &'p Packages<'p>,
    instances: Vec<Instance<'p>>,
    places: HashMap<String, usize>,
    values: usize,
    /// Total length in octets of all paths.
    paths: usize,
}

pub(super) fn instantiate<'p>(packages: &'p Packages<'p>) -> Result<Model, ModelError> {
    let root = root(packages)?;
    let mut build =
        Build { packages, instances: Vec::new(), places: HashMap::new(), values: 0, paths: 0 };
    build.add(None, root, None, 0)?;
    build.model(root.place)
}

/// Returns the only system implementation that is not a subcomponent of another.
fn root<'p>(packages: &'p Packages<'p>) -> Result<&'p Component<'p>, ModelError> {
    let used: std::collections::HashSet<_> = packages
        .components
        .iter()
        .flat_map(|component| &component.subcomponents)
        .filter_map(|part| part.classifier.clone())
        .collect();
    let systems = packages.components.iter().filter(|component| {
        let key = (component.package.clone(), component.name.to_ascii_lowercase());
        component.category == Category::System
            && component.is_implementation
            && !used.contains(&key)
    });
    let systems: Vec<&Component<'_>> = systems.collect();
    match systems[..] {
        [one] => Ok(one),
        [] => Err(ModelError {
            place: packages
                .components
                .first()
                .map_or(TextPosition { text: 0, line: 1, column: 1 }, |first| first.place),
            why: "there is no system implementation that is not a subcomponent of another".into(),
        }),
        [first, second, ..] => Err(ModelError {
            place: second.place,
            why: format!(
                "{} and {} are both systems that are not subcomponents; specify only the files of one of them",
                first.name, second.name
            ),
        }),
    }
}

fn join(base: &str, name: &str) -> String {
    match base {
        "" => name.into(),
        base => format!("{base}.{name}"),
    }
}

impl<'p> Build<'p> {
    fn add(
        &mut self,
        part: Option<&'p Subcomponent<'p>>,
        component: &'p Component<'p>,
        parent: Option<usize>,
        depth: usize,
    ) -> Result<(), ModelError> {
        let place = part.map_or(component.place, |part| part.place);
        let at = self.instance(part, place, parent, component.category, depth)?;
        if component.is_implementation {
            let of = component.name.split('.').next().unwrap_or_default();
            let key = (component.package.clone(), of.to_ascii_lowercase());
            let types = self.packages.names.get(&key).map(|&at| &self.packages.components[at]);
            for property in types.into_iter().flat_map(|it| &it.properties) {
                self.set(at, property, at)?;
            }
        }
        for property in component.properties.iter().filter(|property| property.to.is_empty()) {
            self.set(at, property, at)?;
        }
        self.own(part, at, parent)?;
        for part in &component.subcomponents {
            self.part(part, component, at, depth + 1)?;
        }
        // Set these properties last, because properties of outer components override those of inner
        // ones.
        for property in component.properties.iter().filter(|property| is_read(&property.name)) {
            for path in &property.to {
                let key = join(&self.instances[at].key, &path.join("."));
                match self.places.get(&key) {
                    Some(&to) => self.set(to, property, at)?,
                    // Buses, data and other skipped categories have no instances, so only count the
                    // value.
                    None if path.first().is_some_and(|name| component.others.contains(name)) => {
                        self.count(property.place)?;
                    }
                    None => {
                        let why = format!(
                            "{} applies to {}, which does not exist",
                            property.name,
                            path.join(".")
                        );
                        return Err(ModelError { place: property.place, why });
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets the properties in the braces of a subcomponent.
    fn own(
        &mut self,
        part: Option<&'p Subcomponent<'p>>,
        at: usize,
        parent: Option<usize>,
    ) -> Result<(), ModelError> {
        for property in part.into_iter().flat_map(|part| &part.properties) {
            match property.to.is_empty() {
                true => self.set(at, property, parent.unwrap_or(at))?,
                false if is_read(&property.name) => {
                    return Err(ModelError {
                        place: property.place,
                        why: format!(
                            "applies to within braces is not supported: {}",
                            property.name
                        ),
                    });
                }
                false => {}
            }
        }
        Ok(())
    }

    fn instance(
        &mut self,
        part: Option<&Subcomponent<'_>>,
        place: TextPosition,
        parent: Option<usize>,
        category: Category,
        depth: usize,
    ) -> Result<usize, ModelError> {
        let refuse = |why: String| Err(ModelError { place, why });
        if depth > DEEPEST {
            return refuse(format!(
                "components are nested more than {DEEPEST} deep, or contain themselves"
            ));
        }
        if self.instances.len() >= MOST_INSTANCES {
            return refuse(format!("the system has more than {MOST_INSTANCES} components"));
        }
        let (base, shown) = match parent {
            Some(parent) => {
                (self.instances[parent].key.as_str(), self.instances[parent].path.as_str())
            }
            None => ("", ""),
        };
        let name = part.map_or("", |part| part.name.as_str());
        let (key, path) = match part {
            None => (String::new(), String::new()),
            Some(_) => (join(base, &name.to_ascii_lowercase()), join(shown, name)),
        };
        let at = self.instances.len();
        self.paths += key.len();
        if self.paths > MOST_PATHS {
            return refuse(format!(
                "the paths of all components have more than {MOST_PATHS} octets together"
            ));
        }
        if part.is_some() && self.places.insert(key.clone(), at).is_some() {
            return refuse(format!("the subcomponent {name} occurs twice"));
        }
        self.instances.push(Instance {
            key,
            path,
            category,
            place,
            parent,
            values: HashMap::new(),
        });
        Ok(at)
    }

    fn part(
        &mut self,
        part: &'p Subcomponent<'p>,
        within: &Component<'_>,
        parent: usize,
        depth: usize,
    ) -> Result<(), ModelError> {
        let refuse = |why: String| Err(ModelError { place: part.place, why });
        if part.category == Category::VirtualProcessor {
            return refuse(format!("virtual processors are not supported: {}", part.name));
        }
        let Some(classifier) = &part.classifier else {
            // A component without a classifier has only the properties in its braces.
            let at = self.instance(Some(part), part.place, Some(parent), part.category, depth)?;
            return self.own(Some(part), at, Some(parent));
        };
        match self.packages.names.get(classifier) {
            Some(&at) => {
                let component = &self.packages.components[at];
                match component.category == part.category {
                    true => self.add(Some(part), component, Some(parent), depth),
                    false => refuse(format!(
                        "the category of {} differs from that of {}",
                        part.name, component.name
                    )),
                }
            }
            None => refuse(format!(
                "{} of {}: {} is declared nowhere",
                part.name, within.name, classifier.1
            )),
        }
    }

    fn set(
        &mut self,
        to: usize,
        property: &'p Property<'p>,
        base: usize,
    ) -> Result<(), ModelError> {
        let instance = &self.instances[to];
        let counts = matches!(
            instance.category,
            Category::Thread | Category::ThreadGroup | Category::Processor
        );
        if counts && REFUSED.contains(&property.name.as_str()) {
            return Err(ModelError {
                place: property.place,
                why: format!("{} is not supported, and would change the timing", property.name),
            });
        }
        if !is_read(&property.name) {
            return Ok(());
        }
        self.count(property.place)?;
        let base = self.instances[base].key.clone();
        self.instances[to].values.insert(&property.name, Value { property, base });
        Ok(())
    }

    /// Counts a property value and checks the limit.
    fn count(&mut self, place: TextPosition) -> Result<(), ModelError> {
        self.values += 1;
        match self.values > MOST_VALUES {
            true => Err(ModelError {
                place,
                why: format!("the system has more than {MOST_VALUES} values of properties"),
            }),
            false => Ok(()),
        }
    }

    /// Returns the property value of an instance or of the nearest component that contains it.
    fn inherited(&self, at: usize, name: &str) -> Option<&Value<'p>> {
        let mut next = Some(at);
        while let Some(at) = next {
            let instance = &self.instances[at];
            if let Some(value) = instance.values.get(name) {
                return Some(value);
            }
            next = instance.parent;
        }
        None
    }

    fn model(&self, place: TextPosition) -> Result<Model, ModelError> {
        let mut model = Model::default();
        let mut processors = HashMap::new();
        for instance in self.instances.iter().filter(|it| it.category == Category::Processor) {
            processors.insert(instance.key.clone(), model.processors.len());
            let values = &instance.values;
            model.processors.push(Processor {
                path: instance.path.clone(),
                place: instance.place,
                protocol: values.get("scheduling_protocol").map(protocol).transpose()?,
                switch: match values.get("thread_swap_execution_time") {
                    Some(value) => Some(range(value)?.1),
                    None => None,
                },
            });
        }
        for (at, instance) in self.instances.iter().enumerate() {
            if instance.category == Category::Thread {
                model.threads.push(self.thread(at, &processors)?);
            }
        }
        match model.threads.is_empty() {
            true => Err(ModelError { place, why: "the system has no threads".into() }),
            false => Ok(model),
        }
    }

    fn thread(&self, at: usize, processors: &HashMap<String, usize>) -> Result<Thread, ModelError> {
        let Instance { path, place, values, .. } = &self.instances[at];
        let missing =
            |what: &str| ModelError { place: *place, why: format!("{path} has no {what}") };
        let dispatch =
            values.get("dispatch_protocol").ok_or_else(|| missing("Dispatch_Protocol"))?;
        let how = word(dispatch)?;
        let is_periodic = how.is("periodic");
        if !is_periodic && !how.is("sporadic") {
            let why = "is not supported, because its threads have no minimum distance, or follow other rules; Periodic \
                       and Sporadic are supported";
            return Err(how.refuse(format!("the dispatch protocol {} {why}", how.text)));
        }
        let time = values.get("compute_execution_time");
        let (best_case, worst_case) =
            range(time.ok_or_else(|| missing("Compute_Execution_Time"))?)?;
        let period = self.inherited(at, "period").ok_or_else(|| missing("Period"))?;
        let period_ns = down(period)?;
        if period_ns == 0 {
            return Err(first(period).refuse("a period cannot be 0"));
        }
        let deadline = values.get("compute_deadline").or_else(|| self.inherited(at, "deadline"));
        let offset = values.get("dispatch_offset").filter(|_| is_periodic);
        let jitter = self.inherited(at, "dispatch_jitter");
        Ok(Thread {
            path: path.clone(),
            place: *place,
            best_case,
            worst_case,
            period: period_ns,
            deadline: match deadline {
                // `Deadline => Period` is the default, so no deadline needs to be stored.
                Some(value) if first(value).is("period") => None,
                Some(value) => match down(value)? {
                    0 => return Err(first(value).refuse("a deadline of 0 cannot be met")),
                    deadline => Some(deadline),
                },
                None => None,
            },
            offset: offset.map(down).transpose()?,
            jitter: jitter.map(up).transpose()?.unwrap_or(0),
            processor: self.processor(at, processors)?,
        })
    }

    fn processor(
        &self,
        at: usize,
        processors: &HashMap<String, usize>,
    ) -> Result<Option<usize>, ModelError> {
        let Instance { path, place, .. } = &self.instances[at];
        let Some(value) = self.inherited(at, "actual_processor_binding") else {
            return match processors.len() {
                0 | 1 => Ok((0..processors.len()).next()),
                _ => Err(ModelError {
                    place: *place,
                    why: format!(
                        "{path} has no Actual_Processor_Binding, but the system has several processors"
                    ),
                }),
            };
        };
        let mut references = value.property.value.iter().filter(|token| token.is("reference"));
        let (Some(begin), None) = (references.next(), references.next()) else {
            return Err(
                first(value).refuse("a thread must be bound to one processor: (reference (cpu))")
            );
        };
        let rest =
            value.property.value.iter().skip_while(|token| token.place != begin.place).skip(1);
        let words = rest.filter(|token| token.kind == Kind::Word);
        let words: Vec<String> = words.map(|token| token.text.to_ascii_lowercase()).collect();
        let key = join(&value.base, &words.join("."));
        match processors.get(&key) {
            Some(&processor) => Ok(Some(processor)),
            None => {
                Err(begin.refuse(format!("{} is not a processor of the system", words.join("."))))
            }
        }
    }
}

/// Returns the first token of a value.
fn first<'v>(value: &'v Value<'_>) -> Token<'v> {
    value.property.value.first().copied().unwrap_or(Token {
        kind: Kind::End,
        text: "",
        place: value.property.place,
    })
}

/// Returns a value that is one word, in brackets or not.
fn word<'v>(value: &'v Value<'_>) -> Result<Token<'v>, ModelError> {
    let words: Vec<Token<'_>> = value
        .property
        .value
        .iter()
        .copied()
        .filter(|token| !token.is("(") && !token.is(")"))
        .collect();
    match words[..] {
        [one] if one.kind == Kind::Word => Ok(one),
        _ => Err(first(value).refuse(format!("{} must be one word here", value.property.name))),
    }
}

fn protocol(value: &Value<'_>) -> Result<SchedulingProtocol, ModelError> {
    let name = word(value)?;
    match name.text.to_ascii_lowercase().as_str() {
        "rms" | "rate_monotonic_protocol" => Ok(SchedulingProtocol::RateMonotonic),
        "dms" | "deadline_monotonic_protocol" => Ok(SchedulingProtocol::DeadlineMonotonic),
        "edf" | "earliest_deadline_first_protocol" => Ok(SchedulingProtocol::Deadline),
        _ => Err(name.refuse(format!(
            "the scheduling protocol {} is not supported; RMS, DMS and EDF are",
            name.text
        ))),
    }
}

/// Returns the number of picoseconds of a unit.
fn unit(name: &Token<'_>) -> Option<u128> {
    Some(match name.text.to_ascii_lowercase().as_str() {
        "ps" => 1,
        "ns" => 1_000,
        "us" => 1_000_000,
        "ms" => 1_000_000_000,
        "sec" => 1_000_000_000_000,
        "min" => 60_000_000_000_000,
        "hr" => 3_600_000_000_000_000,
        _ => return None,
    })
}

/// Parses a time at the beginning of tokens, in picoseconds, and returns the remaining tokens.
fn time<'v>(
    tokens: &'v [Token<'v>],
    of: &Value<'_>,
) -> Result<(u128, &'v [Token<'v>]), ModelError> {
    let (number, name, rest) = match tokens {
        [number, name, rest @ ..] if number.kind == Kind::Number && name.kind == Kind::Word => {
            (number, name, rest)
        }
        _ => {
            let begin = tokens.first().copied().unwrap_or_else(|| first(of));
            let what = &of.property.name;
            return Err(begin.refuse(format!(
                "{what} must be a time with a unit, as in 20 ms; property constants are not supported"
            )));
        }
    };
    let scale =
        unit(name).ok_or_else(|| name.refuse(format!("{} is not a unit of time", name.shown())))?;
    let overflow = || number.refuse(format!("{} {} is too long", number.shown(), name.text));
    let text = number.text.replace('_', "");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    if fraction.len() > 15 {
        return Err(number.refuse("a time can have at most 15 digits after its point"));
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| overflow())?;
    let tenths = 10u128.pow(fraction.len() as u32);
    let time = digits.checked_mul(scale).ok_or_else(overflow)?;
    let time = time.div_ceil(tenths);
    match time / 1_000 > u128::from(LONGEST) {
        true => Err(overflow()),
        false => Ok((time, rest)),
    }
}

fn whole(value: &Value<'_>) -> Result<u128, ModelError> {
    let (time, rest) = time(value.property.value, value)?;
    match rest.first() {
        None => Ok(time),
        Some(more) => {
            Err(more.refuse(format!("{} must be one time, but this is more", value.property.name)))
        }
    }
}

fn down(value: &Value<'_>) -> Result<Nanos, ModelError> {
    Ok((whole(value)? / 1_000) as Nanos)
}

fn up(value: &Value<'_>) -> Result<Nanos, ModelError> {
    Ok(whole(value)?.div_ceil(1_000) as Nanos)
}

/// Parses a range of times: the shorter one is rounded down, the longer one up.
fn range(value: &Value<'_>) -> Result<(Nanos, Nanos), ModelError> {
    let (least, rest) = time(value.property.value, value)?;
    let [dots, rest @ ..] = rest else {
        return Ok(((least / 1_000) as Nanos, least.div_ceil(1_000) as Nanos));
    };
    if !dots.is("..") {
        return Err(dots.refuse(format!(
            "{} must be a range of times, as in 1 ms .. 3 ms",
            value.property.name
        )));
    }
    let (most, rest) = time(rest, value)?;
    if let Some(more) = rest.first() {
        return Err(
            more.refuse(format!("{} must be one range, but this is more", value.property.name))
        );
    }
    if least > most {
        return Err(first(value).refuse("the range ends before it begins"));
    }
    Ok(((least / 1_000) as Nanos, most.div_ceil(1_000) as Nanos))
}
