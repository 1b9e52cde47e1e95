//! The curves of `oxbench demux` as an SVG file: one panel for each question.

use std::path::Path;

use plotters::prelude::*;

use super::{Panel, Report};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

const COLORS: [RGBColor; 4] =
    [RGBColor(214, 69, 29), RGBColor(31, 119, 180), RGBColor(44, 140, 70), RGBColor(120, 120, 120)];

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let panels = report.panels.len().max(1);
    let title = format!("{}: from octets to upcall", report.machine);
    page(file, (PANEL.0 * panels as u32, PANEL.1), &title, |area| {
        let places = area.split_evenly((1, panels));
        let mut drawn = report.panels.iter().zip(&places);
        drawn.try_for_each(|(panel, place)| draw_panel(panel, place))
    })
}

fn draw_panel<'a>(panel: &Panel, area: &Area<'a>) -> Drawn<'a> {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let most = points().map(|point| point.of).max().unwrap_or(1) as f64;
    let times = || points().map(|point| point.nanoseconds);
    let lowest = times().fold(f64::INFINITY, f64::min) * 0.7;
    let highest = times().fold(1.0, f64::max) * 3.0;
    let mut chart = ChartBuilder::on(area)
        .caption(panel.of, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((1.0..most.max(2.0)).log_scale(), (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(panel.of)
        .y_desc("nanoseconds")
        .x_label_formatter(&|many| format!("{many:.0}"))
        .y_label_formatter(&|time| format!("{time:.0}"))
        .draw()?;
    for (series, color) in panel.series.iter().zip(COLORS.into_iter().cycle()) {
        let curve = series.points.iter();
        let curve = curve.map(|point| (point.of as f64, point.nanoseconds));
        chart
            .draw_series(LineSeries::new(curve, color.stroke_width(2)).point_size(3))?
            .label(series.strategy)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
