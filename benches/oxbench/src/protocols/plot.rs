//! Drawings as an SVG file: bars for the cubit's calls, a panel each; curves over the size of a sequence, a panel for each
//! transport.

use std::path::Path;

use plotters::prelude::*;

use super::cube::Operation;
use super::matrix::{self, Protocol, Transport};
use super::report::{CubeReport, Report, Row};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (520, 300);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let title = format!("{}; {}", report.machine, report.placement);
    let by_size = [Operation::Octets, Operation::Sent];
    let ways = by_size.map(|operation| of(report, operation));
    let of_sizes = ways.iter().map(Vec::len).sum::<usize>();
    if of_sizes > 2 && of_sizes == report.cubes.len() {
        let ways: Vec<_> = ways.into_iter().filter(|way| !way.is_empty()).collect();
        let size = (PANEL.0 * 3, PANEL.1 * 2 * ways.len() as u32);
        return page(file, size, &title, |area| {
            let areas = area.split_evenly((ways.len(), 1));
            let mut drawn = ways.iter().zip(&areas);
            drawn.try_for_each(|(cubes, area)| curves(cubes, area))
        });
    }
    let rows = report.cubes.len().div_ceil(3).max(1);
    let size = (PANEL.0 * 3, PANEL.1 * rows as u32);
    page(file, size, &title, |area| {
        let panels = area.split_evenly((rows, 3));
        let mut drawn = report.cubes.iter().zip(&panels);
        drawn.try_for_each(|(cube, panel)| bars(cube, panel))
    })
}

/// Returns the calls of an operation, in the order of their sizes.
fn of(report: &Report, operation: Operation) -> Vec<&CubeReport> {
    let cubes = report.cubes.iter();
    cubes.filter(|cube| cube.cube.operation == operation).collect()
}

fn bars<'a>(cube: &CubeReport, panel: &Area<'a>) -> Drawn<'a> {
    let us = |row: &Row| row.p50 as f64 / 1000.0;
    let most = cube.rows.iter().map(us).fold(0.1, f64::max);
    let mut chart = ChartBuilder::on(panel)
        .caption(&cube.name, ("sans-serif", 15))
        .margin(10)
        .x_label_area_size(8)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..cube.rows.len() as f64, 0.0..most * 1.6)?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_desc("microseconds, p50").draw()?;
    for (at, row) in cube.rows.iter().enumerate() {
        let color = row.protocol.color();
        let left = at as f64;
        let bar = Rectangle::new([(left + 0.1, 0.0), (left + 0.9, us(row))], color.filled());
        chart
            .draw_series([bar])?
            .label(row.protocol.name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 3), (x + 8, y + 3)], color.filled()));
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

fn curves<'a>(cubes: &[&CubeReport], area: &Area<'a>) -> Drawn<'a> {
    let panels = area.split_evenly((1, matrix::TRANSPORTS.len()));
    let transports = matrix::TRANSPORTS;
    transports
        .into_iter()
        .zip(&panels)
        .try_for_each(|(transport, panel)| curves_over(cubes, transport, panel))
}

fn curves_over<'a>(cubes: &[&CubeReport], transport: Transport, panel: &Area<'a>) -> Drawn<'a> {
    let sizes = cubes.iter().map(|cube| f64::from(cube.cube.size));
    let (least, most) = (sizes.clone().fold(f64::INFINITY, f64::min), sizes.fold(2.0, f64::max));
    let rows = || cubes.iter().flat_map(|cube| &cube.rows);
    let of_it: Vec<&Row> = rows().filter(|row| row.protocol.transport == transport).collect();
    let times = || of_it.iter().map(|row| row.p50 as f64 / 1000.0);
    let lowest = times().fold(f64::INFINITY, f64::min).min(1e6) * 0.8;
    let highest = times().fold(lowest * 2.0, f64::max) * 1.3;
    let mut chart = ChartBuilder::on(panel)
        .caption(caption(cubes, transport), ("sans-serif", 16))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d((least..most).log_scale(), (lowest..highest).log_scale())?;
    chart.configure_mesh().x_desc("octets of the sequence").y_desc("microseconds, p50").draw()?;
    let mut protocols: Vec<&'static Protocol> = Vec::new();
    for row in of_it {
        if !protocols.contains(&row.protocol) {
            protocols.push(row.protocol);
        }
    }
    for protocol in protocols {
        let color = protocol.color();
        let curve = cubes.iter().filter_map(|cube| {
            let row = cube.row_of(protocol)?;
            Some((f64::from(cube.cube.size), row.p50 as f64 / 1000.0))
        });
        chart
            .draw_series(LineSeries::new(curve, color.stroke_width(2)).point_size(3))?
            .label(protocol.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

/// Says what is drawn, and which way octets went.
fn caption(cubes: &[&CubeReport], transport: Transport) -> String {
    let one_way = |cube: &&&CubeReport| cube.cube.operation == Operation::Sent;
    match cubes.first().filter(one_way) {
        Some(_) => format!("{transport}, one way"),
        None => transport.to_string(),
    }
}
