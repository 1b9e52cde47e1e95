//! Drawing of the results: one panel for each part that was measured, and two for (c).

use super::report::{Admission, Late, Proof, Report, us};
use crate::plot::{Axis, Drawing, Panel};

impl Report {
    /// Draws each part that was measured.
    pub(super) fn drawing(&self) -> Drawing {
        let admission = self.admission.as_ref().map(Admission::panel);
        let storms = (!self.storms.is_empty()).then(|| self.storm_panel());
        let films = self.late_panel("video", "(c) frames in time", "percent", films_in_time);
        let caption = "(c) quotations of a client";
        let quotations = self.late_panel("quotes", caption, "calls a second", fewest_and_most);
        let proof = self.proof.as_ref().map(Proof::panel);
        let panels = [admission, storms, films, quotations, proof].into_iter().flatten().collect();
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }

    /// Draws the urgent client's round trips: without load, without budgets and with budgets.
    fn storm_panel(&self) -> Panel {
        let lines = self.storms.iter().map(|it| (it.name, micros(&it.curve)));
        let caption = "(b) urgent client beside a flood and a spinning servant";
        Panel::lines(caption, percentiles(0.999), Axis::log("microseconds"), lines)
    }

    /// Draws bars of a service, for each policy; `None` if the service was not measured.
    fn late_panel(
        &self,
        service: &str,
        caption: &str,
        unit: &str,
        bars: impl Fn(&Late) -> Vec<(&'static str, f64)>,
    ) -> Option<Panel> {
        let measured = self.late.iter().filter(|late| late.service == service);
        let rows = measured.map(|late| (format!("late={}", late.policy), bars(late)));
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then(|| Panel::bars(caption, Axis::linear(unit), rows))
    }
}

impl Admission {
    /// Draws the times of admissions, and of analyses of the whole set.
    fn panel(&self) -> Panel {
        let one = ("one admission", micros(&self.curve));
        let lines = [one, ("analysis of the whole set", micros(&self.whole_curve))];
        let caption = format!("(a) admission of {} operations", self.operations);
        Panel::lines(caption, percentiles(0.999), Axis::log("microseconds"), lines)
    }
}

impl Proof {
    /// Draws the latencies of urgent calls and the response times without an ORB, with the bound if there is one.
    fn panel(&self) -> Panel {
        let last = 0.99999;
        let bound = self.bound_ns.map(|bound| [(0.0, us(bound)), (last, us(bound))]);
        let lines = [
            ("proved bound", bound.map(Vec::from).unwrap_or_default()),
            ("urgent calls", micros(&self.curve)),
            ("thread without an ORB", micros(&self.without_orb_curve)),
        ];
        let caption = format!("(d) urgent calls, one each {:.0} us", us(self.period_ns));
        Panel::lines(caption, percentiles(last), Axis::log("microseconds"), lines)
    }
}

/// Returns the share of frames in time for each verdict that a client has and that lets it call.
fn films_in_time(late: &Late) -> Vec<(&'static str, f64)> {
    let verdicts = ["guaranteed", "best effort"].into_iter();
    let present = verdicts.filter(|verdict| late.with(verdict).next().is_some());
    present.map(|verdict| (verdict, late.in_time_of(verdict) * 100.0)).collect()
}

/// Returns the rates of the admitted clients that had the fewest and the most quotations.
fn fewest_and_most(late: &Late) -> Vec<(&'static str, f64)> {
    let admitted = || late.clients.iter().filter(|client| client.verdict != "refused");
    let served = || admitted().map(|client| client.served);
    let ends = [("fewest", served().min()), ("most", served().max())];
    let rate = |served: u64| served as f64 / late.seconds;
    ends.into_iter().filter_map(|(name, served)| Some((name, rate(served?)))).collect()
}

fn percentiles(last: f64) -> Axis {
    Axis::percentiles().between(0.0, last)
}

fn micros(curve: &[(f64, u64)]) -> Vec<(f64, f64)> {
    curve.iter().map(|&(quantile, time)| (quantile, us(time))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::report::{Client, Storm};
    use super::*;
    use crate::machine::Machine;

    fn nothing() -> Report {
        let machine = Machine::this();
        Report { machine, admission: None, storms: vec![], late: vec![], proof: None }
    }

    fn curve() -> Vec<(f64, u64)> {
        vec![(0.0, 40_000), (0.9, 50_000), (0.99, 80_000)]
    }

    fn admission() -> Admission {
        Admission {
            operations: 100,
            guaranteed: 70,
            refused: 30,
            equal: 100,
            curve: curve(),
            p50_ns: 45_000,
            p99_ns: 80_000,
            max_ns: 90_000,
            whole_curve: curve(),
            whole_p50_ns: 45_000,
            utilization_ppb: 900_000_000,
        }
    }

    fn late(service: &'static str, policy: &'static str) -> Late {
        let client = |verdict, served| Client { verdict, served, ..Client::default() };
        let clients = vec![client("guaranteed", 90), client("refused", 0)];
        Late { service, policy, seconds: 1.0, clients }
    }

    fn proof(bound_ns: Option<u64>) -> Proof {
        Proof {
            calls: 3_000,
            period_ns: 200_000,
            worst_case_ns: 100_000,
            watcher_ns: 50_000,
            bound_ns,
            beyond: 0,
            explained: 0,
            stalls: 2,
            undisturbed_max_ns: 85_000,
            curve: curve(),
            p50_ns: 45_000,
            p99_ns: 80_000,
            p999_ns: 85_000,
            max_ns: 90_000,
            without_orb: 600,
            without_orb_beyond: 0,
            without_orb_curve: curve(),
            without_orb_max_ns: 90_000,
        }
    }

    /// Draws the report into a file of this name, and returns the file's text without the data, which also names lines
    /// that are not drawn.
    fn drawn(report: &Report, name: &str) -> Result<String, String> {
        let name = format!("oxbench-{}-{name}.svg", std::process::id());
        let file = std::env::temp_dir().join(name);
        let saved = report.drawing().save(&file).map_err(|error| error.to_string());
        let text = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(&file);
        let drawn = text.split("<metadata>").next().unwrap_or_default().to_owned();
        saved.map(|()| drawn)
    }

    #[test]
    fn each_part_alone_is_drawn_with_its_own_captions() {
        let mut reports = [(); 5].map(|()| nothing());
        reports[0].admission = Some(admission());
        reports[1].storms = vec![Storm { name: "alone", curve: curve(), ..Storm::default() }];
        reports[2].late = vec![late("video", "refuse"), late("quotes", "refuse")];
        reports[3].proof = Some(proof(Some(150_000)));
        reports[4].proof = Some(proof(None));
        let expected: [&[&str]; 5] = [
            &["(a) admission of 100 operations", "analysis of the whole set"],
            &["(b) urgent client", "alone"],
            &["(c) frames in time", "(c) quotations", "late=refuse", "guaranteed", "fewest"],
            &["(d) urgent calls, one each 200 us", "proved bound", "thread without an ORB"],
            &["(d) urgent calls, one each 200 us", "thread without an ORB"],
        ];
        let parts = ["(a)", "(b)", "(c)", "(d)"];
        for (at, (report, expected)) in reports.iter().zip(expected).enumerate() {
            let text = drawn(report, &format!("part-{at}")).unwrap();
            for part in expected {
                assert!(text.contains(part), "{part}: {text}");
            }
            for part in parts.iter().filter(|part| !expected[0].starts_with(**part)) {
                assert!(!text.contains(part), "{part} was not measured: {text}");
            }
        }
    }

    #[test]
    fn a_bound_that_was_not_proved_is_not_drawn() {
        let mut report = nothing();
        report.proof = Some(proof(None));
        assert!(!drawn(&report, "unbounded").unwrap().contains("proved bound"));
    }

    #[test]
    fn a_report_without_results_is_not_drawn() {
        let error = drawn(&nothing(), "nothing").unwrap_err();
        assert_eq!(error, "nothing that is drawn was measured");
    }
}
