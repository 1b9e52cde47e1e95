//! Two panels: round trips of the high pair, and what a low request takes; low pairs along.

use std::path::Path;

use plotters::prelude::*;

use super::{Point, Report};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

/// A curve's name, and where a point has its value in microseconds.
type Curve = (&'static str, fn(&Point) -> f64);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let high: [Curve; 2] =
        [("p50", |point| point.p50_ns as f64 / 1e3), ("p99", |point| point.p99_ns as f64 / 1e3)];
    let low: [Curve; 1] = [("each", |point| point.low_ns as f64 / 1e3)];
    page(file, (PANEL.0 * 2, PANEL.1), &report.machine.to_string(), |area| {
        let panels = area.split_evenly((1, 2));
        draw_panel(report, "high pair, round trip", &high, &panels[0])?;
        draw_panel(report, "low pairs, one request", &low, &panels[1])
    })
}

fn draw_panel<'a>(report: &Report, name: &str, curves: &[Curve], panel: &Area<'a>) -> Drawn<'a> {
    let points = || report.series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.pairs).max().unwrap_or(1).max(2);
    let values = || points().flat_map(|point| curves.iter().map(move |(_, of)| of(point)));
    let slowest = values().fold(1.0, f64::max) * 1.2;
    let mut chart = ChartBuilder::on(panel)
        .caption(name, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d((1f64..f64::from(most)).log_scale(), 0.0..slowest)?;
    chart.configure_mesh().x_desc("low pairs").y_desc("microseconds").draw()?;
    for series in &report.series {
        let color = match series.strategy {
            "MUF" => RGBColor(214, 69, 29),
            _ => RGBColor(31, 119, 180),
        };
        for (at, (curve, of)) in curves.iter().enumerate() {
            let style = color.stroke_width(3 - 2 * at as u32);
            let line = series.points.iter();
            let line = line.map(|point| (f64::from(point.pairs), of(point)));
            chart
                .draw_series(LineSeries::new(line, style))?
                .label(format!("{} {curve}", series.strategy))
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
