//! Round trips of the urgent client: alone, without budgets and with them.

use std::path::Path;

use plotters::prelude::*;

use super::report::Report;
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (620, 380);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    page(file, PANEL, &report.machine.to_string(), |area| draw_storms(report, area))
}

fn draw_storms<'a>(report: &Report, area: &Area<'a>) -> Drawn<'a> {
    let nines = |quantile: f64| -(1.0 - quantile).max(1e-3).log10();
    let points = || report.storms.iter().flat_map(|storm| &storm.curve);
    let times = || points().map(|&(_, time)| time as f64 / 1e3);
    let lowest = times().fold(f64::INFINITY, f64::min).max(0.1) * 0.8;
    let highest = times().fold(1.0, f64::max) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption("urgent client beside a flood and a servant that spins", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..3.0, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("percentile")
        .y_desc("microseconds")
        .x_label_formatter(&|nines| format!("{:.1}", 100.0 * (1.0 - 10f64.powf(-nines))))
        .y_label_formatter(&|time| format!("{time:.0}"))
        .draw()?;
    let colors = [RGBColor(120, 120, 120), RGBColor(31, 119, 180), RGBColor(214, 69, 29)];
    for (storm, color) in report.storms.iter().zip(colors) {
        let curve = storm.curve.iter();
        let curve = curve.map(|&(quantile, time)| (nines(quantile), time as f64 / 1e3));
        chart
            .draw_series(LineSeries::new(curve, color.stroke_width(2)))?
            .label(storm.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
