//! A panel for each version: latency of the high pair, low pairs along.

use std::path::Path;

use clap::ValueEnum as _;
use plotters::prelude::*;

use super::report::{Report, Version};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let title = report.machine.to_string();
    page(file, (PANEL.0 * 2, PANEL.1), &title, |area| {
        let panels = area.split_evenly((1, 2));
        let mut drawn = Version::value_variants().iter().zip(&panels);
        drawn.try_for_each(|(&version, panel)| draw_panel(report, version, panel))
    })
}

fn draw_panel<'a>(report: &Report, version: Version, panel: &Area<'a>) -> Drawn<'a> {
    let points = &report.points;
    let most = points.iter().map(|point| point.lows).max().unwrap_or(1);
    // Both panels have one scale.
    let slowest = points.iter().map(|point| point.p99_ns).max().unwrap_or(1);
    let mut chart = ChartBuilder::on(panel)
        .caption(format!("high pair, {version}"), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (1f64..most.max(2) as f64).log_scale(),
            0.0..slowest.max(1) as f64 * 1.2 / 1e3,
        )?;
    chart.configure_mesh().x_desc("low pairs").y_desc("microseconds").draw()?;
    for (strategy, color) in [("RMS", RGBColor(31, 119, 180)), ("MUF", RGBColor(214, 69, 29))] {
        for (name, width) in [("p50", 3), ("p99", 1)] {
            let style = color.stroke_width(width);
            let line = report.line(version, strategy).into_iter().map(|point| {
                let nanoseconds = if name == "p50" { point.p50_ns } else { point.p99_ns };
                (point.lows as f64, nanoseconds as f64 / 1e3)
            });
            chart
                .draw_series(LineSeries::new(line, style))?
                .label(format!("{strategy} {name}"))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
