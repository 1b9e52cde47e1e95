//! A strict reader of OpenMetrics text (version 1.0), and requests for it over HTTP.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use oxorb::Orb;

/// All families of a page.
pub(crate) struct Page(pub(crate) Vec<Family>);

/// Metric family, as its lines say.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) unit: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// Line with a value.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl Page {
    /// Requests the page of an ORB over HTTP, and reads it.
    pub(crate) fn of(orb: &Orb) -> Page {
        let address = orb.metrics_address().expect("the ORB serves metrics");
        let (head, body) = get(address, "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let kind =
            "\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n";
        assert!(head.contains(kind), "{head}");
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        Page::parse(&body)
    }

    /// Reads a page.
    ///
    /// # Panics
    /// If a line violates the format.
    pub(crate) fn parse(text: &str) -> Page {
        let lines = text.strip_suffix("# EOF\n").expect("the page ends with `# EOF`");
        assert!(!lines.contains('\r') && lines.ends_with('\n'), "each line ends with LF");
        let mut families: Vec<Family> = Vec::new();
        for line in lines.lines() {
            if let Some(metadata) = line.strip_prefix("# ") {
                describe(&mut families, metadata);
            } else {
                let sample = sample(line);
                let family = families.last_mut().expect("a family before its samples");
                assert!(!family.help.is_empty(), "metadata before samples: {line}");
                family.samples.push(sample);
            }
        }
        families.iter().for_each(Family::check);
        let names: BTreeSet<&str> = families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names.len(), families.len(), "each family is on the page once");
        Page(families)
    }

    /// Returns the value of the sample with this name and these labels, in their order on the page; `None` if there is
    /// none.
    pub(crate) fn find(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let is_it = |sample: &&Sample| {
            sample.name == name
                && sample.labels.len() == labels.len()
                && labels
                    .iter()
                    .all(|(name, value)| sample.labels.get(*name).is_some_and(|it| it == value))
        };
        let mut samples = self.0.iter().flat_map(|family| &family.samples);
        Some(samples.find(is_it)?.value)
    }

    /// Returns the value of a sample that has to be on the page.
    #[track_caller]
    pub(crate) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.find(name, labels).unwrap_or_else(|| panic!("no {name} {labels:?}"))
    }

    /// Returns the sum of all samples with this name that have these labels, among others.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.0.iter().flat_map(|family| &family.samples);
        let has = |sample: &&Sample| {
            let mut labels = labels.iter();
            sample.name == name
                && labels
                    .all(|(name, value)| sample.labels.get(*name).is_some_and(|it| it == value))
        };
        samples.filter(has).map(|sample| sample.value).sum()
    }
}

/// Sends a request, and returns the head and the body of the response.
pub(crate) fn get(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and an empty line");
    (format!("{head}\r\n"), body.to_owned())
}

/// Reads a line of metadata, without its `# `.
fn describe(families: &mut Vec<Family>, metadata: &str) {
    let mut words = metadata.splitn(3, ' ');
    let (what, name, text) =
        (words.next().unwrap(), words.next().expect("a name"), words.next().expect("a text"));
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    assert!(name.starts_with("oxorb_") && name.chars().all(is_name), "{metadata}");
    if what == "TYPE" {
        assert!(["counter", "gauge", "histogram", "info"].contains(&text), "{metadata}");
        families.push(Family {
            name: name.to_owned(),
            kind: text.to_owned(),
            unit: String::new(),
            help: String::new(),
            samples: Vec::new(),
        });
        return;
    }
    let family = families.last_mut().filter(|family| family.name == name);
    let family = family.unwrap_or_else(|| panic!("TYPE comes first: {metadata}"));
    assert!(family.help.is_empty() && family.samples.is_empty(), "HELP comes last: {metadata}");
    assert!(!text.is_empty() && !text.contains(['\\', '"']), "{metadata}");
    match what {
        "UNIT" => {
            assert!(name.ends_with(&format!("_{text}")), "{metadata}");
            family.unit = text.to_owned();
        }
        "HELP" => family.help = text.to_owned(),
        _ => panic!("unknown metadata: {metadata}"),
    }
}

/// Reads a sample: name, labels, value; no timestamps and exemplars.
fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).expect("a value");
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(mut inner) = rest.strip_prefix('{') {
        loop {
            let (label, text) = inner.split_once("=\"").expect("a label");
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(!label.is_empty() && label.chars().all(is_name), "{line}");
            let (value, after) = quoted(text, line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "twice {label}: {line}");
            if let Some(end) = after.strip_prefix('}') {
                rest = end;
                break;
            }
            inner = after.strip_prefix(',').unwrap_or_else(|| panic!("`,` or `}}`: {line}"));
        }
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("a space: {line}"));
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    assert!(!value.is_empty() && value.chars().all(is_number), "{line}");
    Sample { name: name.to_owned(), labels, value: value.parse().expect("a number") }
}

/// Returns the value before the closing quotation mark, and the text after it.
fn quoted<'t>(text: &'t str, line: &str) -> (String, &'t str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => match characters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('\\' | '"'))) => value.push(c),
                _ => panic!("a wrong escape: {line}"),
            },
            c => value.push(c),
        }
    }
    panic!("no closing quotation mark: {line}")
}

impl Family {
    /// Checks the samples of the family.
    fn check(&self) {
        let Family { name, kind, unit, samples, .. } = self;
        assert!(!self.help.is_empty(), "{name} has no HELP");
        let units = ["seconds", "bytes"];
        let unit_of_name = units.iter().find(|unit| name.ends_with(&format!("_{unit}")));
        assert_eq!(unit, unit_of_name.copied().unwrap_or_default(), "{name}");
        let suffixes: &[&str] = match kind.as_str() {
            "counter" => &["_total"],
            "info" => &["_info"],
            "histogram" => &["_bucket", "_count", "_sum"],
            _ => &[""],
        };
        let mut seen = BTreeSet::new();
        for sample in samples {
            let suffix = sample.name.strip_prefix(name.as_str()).unwrap_or("?");
            assert!(suffixes.contains(&suffix), "{name}: {sample:?}");
            assert!(seen.insert((&sample.name, &sample.labels)), "twice: {sample:?}");
            let others = samples.iter().filter(|other| other.name == sample.name);
            for other in others {
                assert!(other.labels.keys().eq(sample.labels.keys()), "{sample:?}, {other:?}");
            }
            assert!(kind != "info" || sample.value == 1.0, "{sample:?}");
        }
        if kind == "histogram" {
            self.check_histogram();
        }
    }

    /// Checks that each metric of a histogram has cumulative buckets in ascending order, then its count and its sum.
    fn check_histogram(&self) {
        let mut samples = self.samples.iter().peekable();
        while samples.peek().is_some() {
            let (mut bound, mut total) = (0.0, 0.0);
            let mut of = None;
            while bound != f64::INFINITY {
                let bucket = samples.next().expect("a bucket");
                assert!(bucket.name.ends_with("_bucket"), "{bucket:?}");
                let mut labels = bucket.labels.clone();
                let next = labels.remove("le").expect("a bound");
                let next = if next == "+Inf" { f64::INFINITY } else { next.parse().unwrap() };
                assert!(next > bound && bucket.value >= total, "{bucket:?}");
                assert_eq!(*of.get_or_insert_with(|| labels.clone()), labels, "{bucket:?}");
                (bound, total) = (next, bucket.value);
            }
            let (count, sum) = (samples.next().expect("a count"), samples.next().expect("a sum"));
            assert!(count.name.ends_with("_count") && sum.name.ends_with("_sum"), "{count:?}");
            assert_eq!((&count.labels, count.value), (of.as_ref().unwrap(), total));
            assert_eq!(Some(&sum.labels), of.as_ref());
        }
    }
}
