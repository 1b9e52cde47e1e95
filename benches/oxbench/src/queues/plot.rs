//! One panel for each way to measure: requests along, nanoseconds up, both by powers of ten.

use std::path::Path;

use plotters::prelude::*;

use super::{Point, Report, Way};
use crate::Result;

const PANEL: (u32, u32) = (460, 380);

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let area = SVGBackend::new(file, (PANEL.0 * 3, PANEL.1 + 30)).into_drawing_area();
    // Errors of the drawing borrow the file's name.
    panels(report, &area).map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    area.present()
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(())
}

fn panels<'a>(report: &Report, area: &Area<'a>) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let area = area.titled(&report.machine.to_string(), ("sans-serif", 14))?;
    let ways: [Way; 3] = [
        ("enqueue", |point| point.enqueue),
        ("dequeue", |point| point.dequeue),
        ("one in, one out", |point| Some(point.steady)),
    ];
    for ((name, of), panel) in ways.into_iter().zip(area.split_evenly((1, 3))) {
        draw_panel(report, name, of, &panel)?;
    }
    Ok(())
}

fn draw_panel<'a>(
    report: &Report,
    name: &str,
    of: fn(&Point) -> Option<f64>,
    panel: &Area<'a>,
) -> Drawn<'a> {
    let points = || report.series.iter().flat_map(|series| &series.points);
    let most = points()
        .map(|point| point.requests)
        .max()
        .unwrap_or(1)
        .max(2);
    let slowest = points().filter_map(of).fold(10.0, f64::max) * 1.3;
    let fastest = points()
        .filter_map(of)
        .fold(f64::INFINITY, f64::min)
        .max(0.1)
        * 0.8;
    let mut chart = ChartBuilder::on(panel)
        .caption(name, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (1f64..f64::from(most)).log_scale(),
            (fastest..slowest).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("requests")
        .y_desc("nanoseconds")
        .draw()?;
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
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
}
