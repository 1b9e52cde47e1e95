//! The times as an SVG file: a panel for each direction, a group of bars for each row.

use std::path::Path;

use plotters::prelude::*;

use super::Codec;
use super::report::{Line, Report};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const WIDTH: u32 = 760;
const ROW_HEIGHT: u32 = 34;

/// Draws the rows in native order into `file`.
pub(crate) fn draw(report: &Report, file: &Path) -> Result {
    let lines: Vec<&Line> = report.lines.iter().filter(|line| line.native).collect();
    let height = ROW_HEIGHT * lines.len().max(1) as u32 + 80;
    let title = format!("{}; {}; native order", report.machine, report.placement);
    page(file, (2 * WIDTH, height), &title, |area| {
        let panels = area.split_evenly((1, 2));
        let mut drawn = panels.iter().enumerate();
        drawn.try_for_each(|(direction, panel)| draw_panel(&lines, direction, panel))
    })
}

fn draw_panel<'a>(lines: &[&Line], direction: usize, panel: &Area<'a>) -> Drawn<'a> {
    let times = |line: &Line| {
        let cells = line.cells.iter();
        let times = cells.map(|cell| (cell.codec, [&cell.encode, &cell.decode][direction].best));
        times.collect::<Vec<_>>()
    };
    let all = || lines.iter().flat_map(|line| times(line));
    let lowest = all().map(|(_, time)| time).fold(f64::INFINITY, f64::min);
    let highest = all().map(|(_, time)| time).fold(1.0, f64::max);
    let lowest = lowest.min(highest) * 0.7;
    let rows = lines.len() as f64;
    let mut chart = ChartBuilder::on(panel)
        .caption(["encode", "decode"][direction], ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(110)
        // The first row at the top.
        .build_cartesian_2d((lowest..highest * 1.4).log_scale(), -rows..0.0)?;
    let name = |at: &f64| {
        let line = lines.get((-at) as usize).filter(|_| at.fract() == 0.0);
        line.map(|line| line.row.to_owned()).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc("nanoseconds")
        .y_labels(lines.len() + 1)
        .y_label_formatter(&name)
        .draw()?;
    for &codec in <Codec as clap::ValueEnum>::value_variants() {
        let bars = lines.iter().enumerate().filter_map(|(row, line)| {
            let times = times(line);
            let at = times.iter().position(|(known, _)| *known == codec)?;
            let thickness = 0.8 / times.len() as f64;
            let top = -(row as f64) - 0.1 - at as f64 * thickness;
            let corners = [(lowest, top), (times[at].1, top - thickness)];
            Some(Rectangle::new(corners, color(codec).filled()))
        });
        chart.draw_series(bars)?.label(codec.to_string()).legend(move |(x, y)| {
            Rectangle::new([(x, y - 4), (x + 12, y + 4)], color(codec).filled())
        });
    }
    legend(&mut chart, SeriesLabelPosition::LowerRight)
}

fn color(codec: Codec) -> RGBColor {
    match codec {
        Codec::Compiled => RGBColor(214, 69, 29),
        Codec::Interpreted => RGBColor(240, 170, 60),
        Codec::OmniOrb => RGBColor(31, 119, 180),
    }
}
