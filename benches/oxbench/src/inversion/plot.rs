//! Latency of the high-priority client against the number of others, as an SVG file: p50 and p99 of each version.

use std::path::Path;

use clap::ValueEnum as _;
use plotters::prelude::*;

use super::report::{Point, Report, Version};
use crate::Result;
use crate::load::Architecture;
use crate::plot::{Area, Drawn};

const PANEL: (u32, u32) = (620, 400);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let versions: Vec<Version> = Version::value_variants()
        .iter()
        .copied()
        .filter(|&version| report.points.iter().any(|at| at.version == version))
        .collect();
    let size = (PANEL.0 * 2, PANEL.1 * versions.len().max(1) as u32 + 40);
    let area = SVGBackend::new(file, size).into_drawing_area();
    // Errors of the drawing borrow the file's name.
    draw_panels(report, &versions, &area)
        .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    area.present()
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(())
}

fn draw_panels<'a>(report: &Report, versions: &[Version], area: &Area<'a>) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let title = format!("{}; {}", report.machine, report.placement);
    let area = area.titled(&title, ("sans-serif", 14))?;
    let panels = area.split_evenly((versions.len().max(1), 2));
    for (row, &version) in panels.chunks(2).zip(versions) {
        draw_panel(report, version, "p50", |point| point.high.p50, &row[0])?;
        draw_panel(report, version, "p99", |point| point.high.p99, &row[1])?;
    }
    Ok(())
}

fn draw_panel<'a>(
    report: &Report,
    version: Version,
    name: &str,
    of: fn(&Point) -> u64,
    panel: &Area<'a>,
) -> Drawn<'a> {
    let points = || {
        report
            .points
            .iter()
            .filter(|point| point.version == version)
    };
    let times = || points().map(|point| of(point).max(1) as f64 / 1000.0);
    let most = points().map(|point| point.lows).max().unwrap_or(1);
    let lowest = times().fold(f64::INFINITY, f64::min) * 0.8;
    let highest = times().fold(1.0, f64::max) * 1.2;
    let mut chart = ChartBuilder::on(panel)
        .caption(
            format!("{version}: {name} of the high-priority client"),
            ("sans-serif", 18),
        )
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
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
}
