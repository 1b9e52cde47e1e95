//! Timeline as an SVG picture: a row for each task.

use std::fmt::Write as _;

use super::Timeline;
use super::bars::step;
use crate::task::TaskSet;
use crate::time::{Nanos, Show};

const LEFT: f64 = 150.0;
const WIDTH: f64 = 1000.0;
const ROW: f64 = 26.0;
const TOP: f64 = 44.0;

/// Maximum number of slices drawn; more would be illegible.
const MOST_SLICES: usize = 20_000;

/// Color of what is late.
const LATE: &str = "#d6451d";

/// Returns the timeline as SVG: grey marks are releases, slices of late jobs are red, and a red mark is at the deadline
/// of each job that missed it, or at the end of the picture if the deadline is later.
pub fn gantt(title: &str, set: &TaskSet, timeline: &Timeline) -> String {
    let end = timeline.end().max(timeline.frame).max(1);
    let x = |at: Nanos| LEFT + WIDTH * (at as f64 / end as f64);
    let height = TOP + ROW * set.tasks.len() as f64 + 40.0;
    let mut svg = String::new();
    let _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {:.0} {height:.0}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{LEFT}" y="24" font-size="16">{}</text>
"##,
        LEFT + WIDTH + 30.0,
        escape(title)
    );
    for (row, task) in set.tasks.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let weight = if task.criticality.is_critical() { "bold" } else { "normal" };
        let _ = writeln!(
            svg,
            r##"<text x="{:.0}" y="{:.1}" text-anchor="end" font-weight="{weight}">{}</text><path d="M{LEFT} {y2:.1}H{:.0}" stroke="#ddd"/>"##,
            LEFT - 8.0,
            y + 16.0,
            escape(&task.name),
            LEFT + WIDTH,
            y2 = y + ROW - 3.0
        );
    }
    for job in timeline.jobs.iter().take(MOST_SLICES) {
        let y = TOP + ROW * job.task as f64;
        let _ = writeln!(
            svg,
            r##"<path d="M{:.2} {:.1}v{:.1}" stroke="#999"/>"##,
            x(job.release),
            y,
            ROW - 3.0
        );
    }
    for slice in timeline.slices.iter().take(MOST_SLICES) {
        let job = &timeline.jobs[slice.job];
        let color = if job.missed() { LATE } else { "#1f77b4" };
        let _ = writeln!(
            svg,
            r##"<rect x="{:.2}" y="{:.1}" width="{:.2}" height="{:.1}" fill="{color}"><title>{} job {}, {} to {}</title></rect>"##,
            x(slice.from),
            TOP + ROW * job.task as f64 + 4.0,
            (x(slice.to) - x(slice.from)).max(0.3),
            ROW - 8.0,
            escape(&set.tasks[job.task].name),
            job.number,
            Show(slice.from),
            Show(slice.to)
        );
    }
    let missed = timeline.jobs.iter().filter(|job| job.missed());
    for job in missed.take(MOST_SLICES) {
        let _ = writeln!(
            svg,
            r##"<path d="M{:.2} {:.1}v{:.1}" stroke="{LATE}" stroke-width="2"><title>{} job {} missed its deadline at {}</title></path>"##,
            x(job.deadline.min(end)),
            TOP + ROW * job.task as f64,
            ROW - 3.0,
            escape(&set.tasks[job.task].name),
            job.number,
            Show(job.deadline)
        );
    }
    let bottom = TOP + ROW * set.tasks.len() as f64;
    let step = (step(end as f64, 10.0) as Nanos).max(1);
    for at in (0..=end / step).map(|steps| steps * step) {
        let _ = writeln!(
            svg,
            r##"<path d="M{x:.1} {TOP}V{bottom:.1}" stroke="#eee"/><text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
            bottom + 18.0,
            Show(at),
            x = x(at)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use oxorb_testkit::svg::{Element, elements};

    use super::*;
    use crate::level::Criticality;
    use crate::simulate::{LatePolicy, SimulationOptions, releases, run};
    use crate::strategy::Dispatching;
    use crate::task::Task;
    use crate::time::{MILLISECOND, parse};

    const MS: Nanos = MILLISECOND;

    /// Returns a set of which the task "slow & late" misses deadlines, and its timeline.
    fn overloaded(late: LatePolicy) -> (TaskSet, Timeline) {
        let mut set = TaskSet::fixed_priority([
            Task::periodic("fast", 2 * MS, 4 * MS),
            Task::periodic("<medium>", 3 * MS, 10 * MS),
            Task { deadline: 8 * MS, ..Task::periodic("slow & late", 6 * MS, 20 * MS) },
        ]);
        set.tasks[1].criticality = Criticality::High;
        // Only jobs that are ordered by time are dropped.
        set.tasks[2].dispatching = Dispatching::Laxity;
        let timeline = run(&set, &releases(&set, 40 * MS).unwrap(), &SimulationOptions { late });
        (set, timeline)
    }

    fn titled<'e>(all: &'e [Element], name: &str) -> Vec<(&'e Element, &'e str)> {
        let named = all.iter().filter(|it| it.name == name);
        named.filter_map(|it| Some((it, it.title.as_deref()?))).collect()
    }

    /// Returns the horizontal position of a time, which the axis also has.
    fn x(timeline: &Timeline, at: Nanos) -> f64 {
        LEFT + WIDTH * at as f64 / timeline.end().max(timeline.frame) as f64
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 0.11
    }

    #[test]
    fn each_slice_is_a_bar_in_the_row_of_its_task() {
        let (set, timeline) = overloaded(LatePolicy::Keep);
        let all = elements(&gantt("title", &set, &timeline));
        let bars = titled(&all, "rect");
        assert_eq!(bars.len(), timeline.slices.len());
        assert!(bars.len() >= timeline.jobs.len(), "each job has run");
        for ((bar, title), slice) in bars.iter().zip(&timeline.slices) {
            let job = &timeline.jobs[slice.job];
            let (from, to) = (x(&timeline, slice.from), x(&timeline, slice.to));
            assert!(near(bar.number("x"), from) && near(bar.number("width"), to - from), "{title}");
            assert!(near(bar.number("y"), TOP + ROW * job.task as f64 + 4.0), "{title}");
            assert!(near(bar.number("height"), ROW - 8.0), "{title}");
            let (name, number) = (&set.tasks[job.task].name, job.number);
            let (from, to) = (Show(slice.from), Show(slice.to));
            assert_eq!(*title, format!("{name} job {number}, {from} to {to}"));
            assert_eq!(bar.attribute("fill") == LATE, job.missed(), "{title}");
        }
    }

    #[test]
    fn each_miss_is_a_mark_at_the_deadline() {
        // A dropped job has no slice, so the mark is all that shows it.
        for late in [LatePolicy::Keep, LatePolicy::Drop] {
            let (set, timeline) = overloaded(late);
            let all = elements(&gantt("title", &set, &timeline));
            let marks = titled(&all, "path");
            let missed: Vec<_> = timeline.jobs.iter().filter(|job| job.missed()).collect();
            assert!(!missed.is_empty() && missed.len() < timeline.jobs.len());
            let dropped = missed.iter().any(|job| job.done.is_none());
            assert_eq!(dropped, late == LatePolicy::Drop);
            assert_eq!(marks.len(), missed.len());
            for ((mark, title), job) in marks.iter().zip(missed) {
                let place = mark.path();
                assert!(near(place[0], x(&timeline, job.deadline)), "{title}");
                assert!(near(place[1], TOP + ROW * job.task as f64), "{title}");
                assert_eq!(mark.attribute("stroke"), LATE);
                let (name, number) = (&set.tasks[job.task].name, job.number);
                let deadline = Show(job.deadline);
                assert_eq!(
                    *title,
                    format!("{name} job {number} missed its deadline at {deadline}")
                );
            }
        }
        let set = TaskSet::fixed_priority([Task::periodic("alone", MS, 10 * MS)]);
        let options = SimulationOptions { late: LatePolicy::Keep };
        let timeline = run(&set, &releases(&set, 20 * MS).unwrap(), &options);
        assert!(titled(&elements(&gantt("title", &set, &timeline)), "path").is_empty());
    }

    #[test]
    fn each_release_is_a_grey_mark() {
        let (set, timeline) = overloaded(LatePolicy::Keep);
        let all = elements(&gantt("title", &set, &timeline));
        let is_grey = |it: &&Element| it.attributes.get("stroke").is_some_and(|it| it == "#999");
        let marks: Vec<f64> = all.iter().filter(is_grey).map(|it| it.path()[0]).collect();
        let releases = timeline.jobs.iter().map(|job| x(&timeline, job.release));
        assert_eq!(marks.len(), timeline.jobs.len());
        assert!(marks.iter().zip(releases).all(|(mark, release)| near(*mark, release)));
    }

    #[test]
    fn the_axis_has_times_with_units_and_the_rows_have_names() {
        let (set, timeline) = overloaded(LatePolicy::Keep);
        let all = elements(&gantt("a < b", &set, &timeline));
        let texts: Vec<&Element> = all.iter().filter(|it| it.name == "text").collect();
        assert_eq!(texts[0].text, "a < b");
        let anchored = |at: &str| -> Vec<&&Element> {
            let anchored = texts
                .iter()
                .filter(|it| it.attributes.get("text-anchor").is_some_and(|it| it == at));
            anchored.collect()
        };
        let rows = anchored("end");
        let names: Vec<&str> = rows.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(names, ["fast", "<medium>", "slow & late"]);
        let weights: Vec<&str> = rows.iter().map(|it| it.attribute("font-weight")).collect();
        assert_eq!(weights, ["normal", "bold", "normal"]);
        let labels = anchored("middle");
        let bottom = TOP + ROW * set.tasks.len() as f64;
        // The first time of the axis is 0.
        assert!(near(labels[0].number("x"), LEFT));
        assert!((5..=12).contains(&labels.len()), "{labels:?}");
        let mut before = None;
        for label in labels {
            let at = match label.text.as_str() {
                "0" => 0,
                text => parse(text).expect("a time with a unit"),
            };
            assert!(near(label.number("x"), x(&timeline, at)), "{label:?}");
            assert!(label.number("y") > bottom, "the label is below the rows");
            assert!(before < Some(at), "the times ascend");
            before = Some(at);
        }
        let svg = &all[0];
        let size: Vec<f64> =
            svg.attribute("viewBox").split(' ').map(|it| it.parse().unwrap()).collect();
        let is_inside = |it: &&&Element| it.number("x") <= size[2] && it.number("y") <= size[3];
        assert_eq!(texts.iter().filter(is_inside).count(), texts.len());
    }

    #[test]
    fn a_timeline_without_jobs_has_an_axis() {
        let set = TaskSet::fixed_priority([Task::periodic("alone", MS, 10 * MS)]);
        let svg = gantt("title", &set, &Timeline::default());
        assert!(titled(&elements(&svg), "rect").is_empty() && !svg.contains("NaN"), "{svg}");
    }
}
