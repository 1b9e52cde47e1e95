//! Latency of the high-priority client against the number of others, as an SVG file: p50 and p99 of each version.

use std::path::Path;

use clap::ValueEnum as _;
use plotters::prelude::*;

use super::report::{Point, Report, Version};
use crate::Result;
use crate::load::Architecture;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (620, 400);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let versions: Vec<Version> = Version::value_variants()
        .iter()
        .copied()
        .filter(|&version| report.points.iter().any(|at| at.version == version))
        .collect();
    let rows = versions.len().max(1);
    let size = (PANEL.0 * 2, PANEL.1 * rows as u32);
    let title = format!("{}; {}, {}", report.machine, report.placement, report.over);
    page(file, size, &title, |area| {
        let panels = area.split_evenly((rows, 2));
        panels.chunks(2).zip(&versions).try_for_each(|(row, &version)| {
            draw_panel(report, version, "p50", |point| point.high.p50, &row[0])?;
            draw_panel(report, version, "p99", |point| point.high.p99, &row[1])
        })
    })
}

fn draw_panel<'a>(
    report: &Report,
    version: Version,
    name: &str,
    of: fn(&Point) -> u64,
    panel: &Area<'a>,
) -> Drawn<'a> {
    let points = || report.points.iter().filter(|point| point.version == version);
    let times = || points().map(|point| of(point).max(1) as f64 / 1000.0);
    let most = points().map(|point| point.lows).max().unwrap_or(1);
    let lowest = times().fold(f64::INFINITY, f64::min) * 0.8;
    let highest = times().fold(1.0, f64::max) * 1.2;
    let mut chart = ChartBuilder::on(panel)
        .caption(format!("{version}: {name} of the high-priority client"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0..most + 1, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("clients of low priority")
        .y_desc("microseconds")
        .y_label_formatter(&|time| format!("{time:.0}"))
        .draw()?;
    for &architecture in Architecture::value_variants() {
        let color = architecture.color();
        let line: Vec<_> = report
            .line(version, architecture)
            .map(|point| (point.lows, of(point).max(1) as f64 / 1000.0))
            .collect();
        if line.is_empty() {
            continue;
        }
        let dots = line.iter().map(|&at| Circle::new(at, 3, color.filled()));
        chart.draw_series(dots.collect::<Vec<_>>())?;
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)))?
            .label(architecture.to_string())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
