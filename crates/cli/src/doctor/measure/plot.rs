//! Wake-ups as an SVG picture: a histogram of lateness for each priority.

use std::fmt::Write as _;

use super::report::Wakeups;

const WIDTH: f64 = 820.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

const COLORS: [&str; 6] = ["#777777", "#1f77b4", "#2ca02c", "#d6451d", "#9467bd", "#8c564b"];

/// Draws the histograms; both axes are logarithmic to base 10.
pub(super) fn draw(all: &[Wakeups]) -> String {
    let buckets = || all.iter().flat_map(|it| &it.histogram);
    let times = || buckets().map(|it| (it.up_to_ns as f64).log10());
    let (from, to) = (times().fold(4.0, f64::min).floor(), times().fold(5.0, f64::max).ceil());
    let most = buckets().map(|it| (it.count as f64).log10());
    let most = most.fold(1.0, f64::max).ceil();
    let x = |time: f64| LEFT + (time - from) / (to - from) * (WIDTH - LEFT - RIGHT);
    let y = |count: f64| HEIGHT - BOTTOM - count / most * (HEIGHT - TOP - BOTTOM);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">Wake-ups of threads at each priority</text>"
    );
    for power in from as i32..=to as i32 {
        let at = x(f64::from(power));
        let (top, bottom) = (y(most), y(0.0));
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{top:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            time(power)
        );
    }
    for power in 0..=most as i32 {
        let at = y(f64::from(power));
        let (left, right) = (x(from), x(to));
        let _ = writeln!(
            svg,
            "<line x1=\"{left:.1}\" y1=\"{at:.1}\" x2=\"{right:.1}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            10_u64.pow(power.cast_unsigned())
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">late by</text>\n\
         <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">wake-ups</text>",
        x((from + to) / 2.0),
        HEIGHT - 10.0,
        HEIGHT / 2.0
    );
    for (at, wakeups) in all.iter().enumerate() {
        let color = COLORS[at % COLORS.len()];
        let mut points = String::new();
        for bucket in &wakeups.histogram {
            let point = ((bucket.up_to_ns as f64).log10(), (bucket.count as f64).log10());
            let _ = write!(points, "{:.1},{:.1} ", x(point.0.max(from)), y(point.1));
        }
        let row = TOP + 10.0 + at as f64 * 18.0;
        let beside = WIDTH - RIGHT + 14.0;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>\n\
             <line x1=\"{beside:.1}\" y1=\"{row:.1}\" x2=\"{:.1}\" y2=\"{row:.1}\" stroke=\"{color}\" stroke-width=\"2\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            points.trim_end(),
            beside + 20.0,
            beside + 26.0,
            row + 4.0,
            wakeups.name()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn time(power_of_nanoseconds: i32) -> String {
    match power_of_nanoseconds {
        ..3 => format!("{} ns", 10_u64.pow(power_of_nanoseconds.max(0).cast_unsigned())),
        3..6 => format!("{} us", 10_u64.pow((power_of_nanoseconds - 3).cast_unsigned())),
        6..9 => format!("{} ms", 10_u64.pow((power_of_nanoseconds - 6).cast_unsigned())),
        _ => format!("{} s", 10_u64.pow((power_of_nanoseconds - 9).cast_unsigned().min(9))),
    }
}
