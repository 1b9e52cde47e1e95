//! One panel for each way to measure: requests along, nanoseconds up, both by powers of ten.

use std::path::Path;

use plotters::prelude::*;

use super::{Point, Report, Way};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let ways: [Way; 3] = [
        ("enqueue", |point| point.enqueue),
        ("dequeue", |point| point.dequeue),
        ("one in, one out", |point| Some(point.steady)),
    ];
    page(file, (PANEL.0 * 3, PANEL.1), &report.machine.to_string(), |area| {
        let panels = area.split_evenly((1, 3));
        let mut drawn = ways.into_iter().zip(&panels);
        drawn.try_for_each(|((name, of), panel)| draw_panel(report, name, of, panel))
    })
}

fn draw_panel<'a>(
    report: &Report,
    name: &str,
    of: fn(&Point) -> Option<f64>,
    panel: &Area<'a>,
) -> Drawn<'a> {
    let points = || report.series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.requests).max().unwrap_or(1).max(2);
    let slowest = points().filter_map(of).fold(10.0, f64::max) * 1.3;
    let fastest = points().filter_map(of).fold(f64::INFINITY, f64::min).max(0.1) * 0.8;
    let mut chart = ChartBuilder::on(panel)
        .caption(name, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d((1f64..f64::from(most)).log_scale(), (fastest..slowest).log_scale())?;
    chart.configure_mesh().x_desc("requests").y_desc("nanoseconds").draw()?;
    for series in &report.series {
        let color = match series.kind {
            "static" => RGBColor(44, 160, 44),
            "deadline" => RGBColor(31, 119, 180),
            _ => RGBColor(214, 69, 29),
        };
        let style = match series.store {
            "heap" => color.stroke_width(3),
            _ => color.mix(0.6).stroke_width(1),
        };
        let curve = series.points.iter();
        let curve = curve.filter_map(|point| Some((f64::from(point.requests), of(point)?)));
        chart
            .draw_series(LineSeries::new(curve, style))?
            .label(format!("{} {}", series.kind, series.store))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
