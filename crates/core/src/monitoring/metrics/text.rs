//! Text format of metrics: OpenMetrics 1.0.

use std::fmt::{Arguments, Write as _};

use super::meter::BOUNDS;

/// Type of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricType {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// Metric family: metrics of one name that differ in their labels.
#[derive(Debug)]
pub(super) struct Family {
    /// Name, which ends with the unit if there is one.
    pub(super) name: &'static str,
    pub(super) kind: MetricType,
    /// Unit; empty for none.
    pub(super) unit: &'static str,
    /// Description, without characters that have to be escaped.
    pub(super) help: &'static str,
}

/// Value of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Number(u64),
    /// Nanoseconds, which are written in seconds.
    Time(u64),
}

/// Names and values of labels.
pub(super) type Labels<'l> = [(&'l str, &'l str)];

/// Page of metrics that is being written.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl MetricType {
    fn word(self) -> &'static str {
        match self {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
            MetricType::Info => "info",
        }
    }

    /// Returns the suffix of the names of samples; histograms have several suffixes.
    fn suffix(self) -> &'static str {
        match self {
            MetricType::Counter => "_total",
            MetricType::Gauge | MetricType::Histogram => "",
            MetricType::Info => "_info",
        }
    }
}

impl Page {
    /// Begins a family. Its samples follow, before the next family.
    pub(super) fn begin(&mut self, family: &Family) {
        let Family { name, kind, unit, help } = family;
        self.line(format_args!("# TYPE {name} {}", kind.word()));
        if !unit.is_empty() {
            self.line(format_args!("# UNIT {name} {unit}"));
        }
        self.line(format_args!("# HELP {name} {help}"));
    }

    /// Writes a sample of a family that is no histogram.
    pub(super) fn sample(&mut self, family: &Family, labels: &Labels<'_>, value: Value) {
        self.write(family.name, family.kind.suffix(), labels, value);
    }

    /// Writes the samples of one metric of a histogram. `counts`: number of values in each bucket of [`BOUNDS`], and
    /// above them; `sum`: nanoseconds.
    pub(super) fn histogram(
        &mut self,
        family: &Family,
        labels: &Labels<'_>,
        counts: &[u64],
        sum: u64,
    ) {
        let bounds = BOUNDS.iter().map(|(_, bound)| *bound).chain(["+Inf"]);
        let mut total = 0;
        for (bound, count) in bounds.zip(counts) {
            total += count;
            let mut with_bound = labels.to_vec();
            with_bound.push(("le", bound));
            self.write(family.name, "_bucket", &with_bound, Value::Number(total));
        }
        self.write(family.name, "_count", labels, Value::Number(total));
        self.write(family.name, "_sum", labels, Value::Time(sum));
    }

    /// Returns the text of the whole page.
    pub(super) fn finish(mut self) -> String {
        self.line(format_args!("# EOF"));
        self.0
    }

    fn write(&mut self, name: &str, suffix: &str, labels: &Labels<'_>, value: Value) {
        self.0.push_str(name);
        self.0.push_str(suffix);
        for (at, (name, value)) in labels.iter().enumerate() {
            self.0.push(if at == 0 { '{' } else { ',' });
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.escaped(value);
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        match value {
            Value::Number(number) => self.line(format_args!(" {number}")),
            Value::Time(nanoseconds) => {
                let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
                self.line(format_args!(" {seconds}.{rest:09}"));
            }
        }
    }

    /// Writes the value of a label.
    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\\' | '"' => self.0.extend(['\\', character]),
                '\n' => self.0.push_str("\\n"),
                _ => self.0.push(character),
            }
        }
    }

    /// Ends a line with this text.
    fn line(&mut self, text: Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.0.write_fmt(text);
        self.0.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::super::meter::BUCKETS;
    use super::*;

    const CALLS: Family =
        Family { name: "oxorb_calls", kind: MetricType::Counter, unit: "", help: "Calls." };

    #[test]
    fn a_family_is_described_before_its_samples() {
        let mut page = Page::default();
        page.begin(&CALLS);
        page.sample(&CALLS, &[], Value::Number(7));
        page.sample(&CALLS, &[("a", "x"), ("b", "\"q\" \\ \n.")], Value::Number(u64::MAX));
        let time =
            Family { name: "t_seconds", kind: MetricType::Gauge, unit: "seconds", help: "Time." };
        page.begin(&time);
        page.sample(&time, &[], Value::Time(12_000_000_345));
        let expected = "# TYPE oxorb_calls counter\n# HELP oxorb_calls Calls.\noxorb_calls_total 7\n\
                        oxorb_calls_total{a=\"x\",b=\"\\\"q\\\" \\\\ \\n.\"} 18446744073709551615\n\
                        # TYPE t_seconds gauge\n# UNIT t_seconds seconds\n# HELP t_seconds Time.\n\
                        t_seconds 12.000000345\n# EOF\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn buckets_of_a_histogram_count_all_values_up_to_their_bounds() {
        let family = Family {
            name: "h_seconds",
            kind: MetricType::Histogram,
            unit: "seconds",
            help: "Time.",
        };
        let mut counts = [0; BUCKETS];
        (counts[0], counts[1], counts[BUCKETS - 1]) = (3, 2, 1);
        let mut page = Page::default();
        page.histogram(&family, &[("lane", "0")], &counts, 1_500_000_000);
        let text = page.finish();
        assert!(text.starts_with("h_seconds_bucket{lane=\"0\",le=\"1e-06\"} 3\n"), "{text}");
        assert!(text.contains("\nh_seconds_bucket{lane=\"0\",le=\"10.0\"} 5\n"), "{text}");
        let end = "\nh_seconds_bucket{lane=\"0\",le=\"+Inf\"} 6\nh_seconds_count{lane=\"0\"} 6\n\
                   h_seconds_sum{lane=\"0\"} 1.500000000\n# EOF\n";
        assert!(text.ends_with(end), "{text}");
    }
}
