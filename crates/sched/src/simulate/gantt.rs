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

/// Returns the timeline as SVG: grey marks are releases, red slices are late.
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
        let color = if job.missed() { "#d6451d" } else { "#1f77b4" };
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
