//! Percentile curves as an SVG file: one panel for each experiment, one curve for each peer.

use std::path::Path;

use plotters::prelude::*;

use crate::Result;
use crate::peers::Peer;
use crate::report::{ExperimentReport, Report};

const PANEL: (u32, u32) = (620, 380);

/// Draws `report` into `file`.
pub(crate) fn draw(report: &Report, file: &Path) -> Result {
    let columns = report.experiments.len().clamp(1, 2);
    let rows = report.experiments.len().div_ceil(columns).max(1);
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32 + 40);
    let area = SVGBackend::new(file, size).into_drawing_area();
    // Errors of the drawing borrow the file's name.
    draw_panels(report, &area, (rows, columns))
        .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    area.present()
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(())
}

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
pub(crate) type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_panels<'a>(report: &Report, area: &Area<'a>, panels: (usize, usize)) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let title = format!("{}; {}", report.machine, report.placement);
    let area = area.titled(&title, ("sans-serif", 14))?;
    for (experiment, panel) in report.experiments.iter().zip(area.split_evenly(panels)) {
        draw_panel(experiment, &panel)?;
    }
    Ok(())
}

fn draw_panel<'a>(experiment: &ExperimentReport, panel: &Area<'a>) -> Drawn<'a> {
    let nines = |quantile: f64| -(1.0 - quantile).max(1e-5).log10();
    let points = || experiment.peers.iter().flat_map(|peer| &peer.curve);
    let most_nines = points()
        .map(|&(quantile, _)| nines(quantile))
        .fold(1.0, f64::max);
    let times = || points().map(|&(_, time)| time as f64 / 1000.0);
    let lowest = times().fold(f64::INFINITY, f64::min) * 0.8;
    let highest = times().fold(1.0, f64::max) * 1.2;

    let mut chart = ChartBuilder::on(panel)
        .caption(experiment.name, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..most_nines, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("percentile")
        .y_desc("microseconds")
        .x_label_formatter(&|nines| format!("{}", percentile(*nines)))
        .y_label_formatter(&|time| format!("{time:.1}"))
        .draw()?;
    for peer in &experiment.peers {
        let color = color(peer.peer);
        let curve = peer.curve.iter();
        let curve = curve.map(|&(quantile, time)| (nines(quantile), time as f64 / 1000.0));
        chart
            .draw_series(LineSeries::new(curve, color.stroke_width(2)))?
            .label(peer.peer.to_string())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
}

/// The percentile at so many nines: 1 is 90, 2 is 99, 3 is 99.9.
fn percentile(nines: f64) -> f64 {
    let percent = 100.0 * (1.0 - 10f64.powf(-nines));
    (percent * 1000.0).round() / 1000.0
}

fn color(peer: Peer) -> RGBColor {
    match peer {
        Peer::Raw => RGBColor(120, 120, 120),
        Peer::OmniOrb => RGBColor(31, 119, 180),
        Peer::OxOrb => RGBColor(214, 69, 29),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nines_become_percentiles() {
        assert_eq!(
            [0.0, 1.0, 2.0, 3.0].map(percentile),
            [0.0, 90.0, 99.0, 99.9]
        );
    }
}
