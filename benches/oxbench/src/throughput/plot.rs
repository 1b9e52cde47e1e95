//! Calls a second against the number of clients, as an SVG file: a panel for each placement.

use std::path::Path;

use plotters::prelude::*;

use super::report::Report;
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (620, 420);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let placements = report.placements().count().max(1);
    let size = (PANEL.0 * placements as u32, PANEL.1);
    page(file, size, &report.machine.to_string(), |area| {
        let panels = area.split_evenly((1, placements));
        let mut drawn = report.placements().zip(&panels);
        drawn.try_for_each(|(placement, panel)| draw_panel(report, placement, panel))
    })
}

fn draw_panel<'a>(report: &Report, placement: &str, panel: &Area<'a>) -> Drawn<'a> {
    let most_clients = report.points.iter().map(|point| point.clients).max();
    let least_work = report.points.iter().map(|point| point.work).min();
    let most_calls = report.points.iter().map(|point| point.rate()).max();
    let mut chart = ChartBuilder::on(panel)
        .caption(placement, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(
            0..most_clients.unwrap_or(1) + 1,
            0.0..most_calls.unwrap_or(1) as f64 / 1000.0 * 1.1,
        )?;
    chart.configure_mesh().x_desc("clients").y_desc("thousand calls a second").draw()?;
    for (architecture, server) in report.pairs() {
        let color = match report.one_connection {
            true => server.color(),
            false => architecture.color(),
        };
        let line: Vec<_> = report
            .line(placement, (architecture, server))
            .filter(|point| Some(point.work) == least_work)
            .map(|point| (point.clients, point.rate() as f64 / 1000.0))
            .collect();
        if line.is_empty() {
            continue;
        }
        let dots = line.iter().map(|&at| Circle::new(at, 3, color.filled()));
        chart.draw_series(dots.collect::<Vec<_>>())?;
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)))?
            .label(match report.one_connection {
                true => format!("{architecture}, served by {server}"),
                false => architecture.to_string(),
            })
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::LowerRight)
}
