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
    let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
    let title = format!("{}; {}", report.machine, report.placement);
    page(file, size, &title, |area| {
        let panels = area.split_evenly((rows, columns));
        let mut drawn = report.experiments.iter().zip(&panels);
        drawn.try_for_each(|(experiment, panel)| draw_panel(experiment, panel))
    })
}

/// Height of a page's title.
const TITLE: u32 = 40;

/// Draws a page into an SVG file: a title, and below it so much room for panels.
pub(crate) fn page<P>(file: &Path, (width, height): (u32, u32), title: &str, panels: P) -> Result
where
    P: for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
{
    let area = SVGBackend::new(file, (width, height + TITLE)).into_drawing_area();
    // Errors of the drawing borrow the file's name.
    draw_page(&area, title, panels)
        .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    area.present().map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(())
}

fn draw_page<'a>(
    area: &Area<'a>,
    title: &str,
    panels: impl FnOnce(&Area<'a>) -> Drawn<'a>,
) -> Drawn<'a> {
    area.fill(&WHITE)?;
    panels(&area.titled(title, ("sans-serif", 14))?)
}

/// Names the curves of a chart in one of its corners.
pub(crate) fn legend<'a, Across, Up>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<Across, Up>>,
    corner: SeriesLabelPosition,
) -> Drawn<'a>
where
    Across: Ranged,
    Up: Ranged,
{
    chart.configure_series_labels().position(corner).background_style(WHITE.mix(0.8)).draw()
}

pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
pub(crate) type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn draw_panel<'a>(experiment: &ExperimentReport, panel: &Area<'a>) -> Drawn<'a> {
    let nines = |quantile: f64| -(1.0 - quantile).max(1e-5).log10();
    let points = || experiment.peers.iter().flat_map(|peer| &peer.curve);
    let most_nines = points().map(|&(quantile, _)| nines(quantile)).fold(1.0, f64::max);
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
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
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
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(percentile), [0.0, 90.0, 99.0, 99.9]);
    }
}
