//! The rates kept against the work of a call, as an SVG file: a panel for each order of priorities.

use std::path::Path;

use clap::ValueEnum as _;
use plotters::prelude::*;

use super::report::{Point, Report};
use super::{Order, RATES};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

/// Calls a second at one amount of work.
pub(crate) struct Kept {
    pub(crate) order: Order,
    /// Milliseconds of a call.
    pub(crate) work: f64,
    /// Of each of `RATES`.
    pub(crate) rates: [f64; 3],
}

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let kept = |point: &Point| Kept {
        order: point.order,
        work: f64::from(point.work) / 1000.0,
        rates: std::array::from_fn(|at| point.clients[at].kept),
    };
    let points: Vec<Kept> = report.points.iter().map(kept).collect();
    let title = format!("{}; {}", report.machine, report.placement);
    draw_kept(&points, &title, file)
}

/// Draws rates into `file`.
pub(crate) fn draw_kept(points: &[Kept], title: &str, file: &Path) -> Result {
    let orders: Vec<Order> = Order::value_variants()
        .iter()
        .copied()
        .filter(|&order| points.iter().any(|point| point.order == order))
        .collect();
    let columns = orders.len().max(1);
    page(file, (PANEL.0 * columns as u32, PANEL.1), title, |area| {
        let panels = area.split_evenly((1, columns));
        let mut drawn = panels.iter().zip(&orders);
        drawn.try_for_each(|(panel, &order)| draw_panel(points, order, panel))
    })
}

fn draw_panel<'a>(all: &[Kept], order: Order, panel: &Area<'a>) -> Drawn<'a> {
    let points = || all.iter().filter(|point| point.order == order);
    let most = points().map(|point| point.work).fold(1.0, f64::max);
    let caption = match order {
        Order::None => "no priorities",
        Order::ByRate => "lanes, by rate",
        Order::AgainstRate => "lanes, against the rate",
    };
    let mut chart = ChartBuilder::on(panel)
        .caption(caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(44)
        .build_cartesian_2d(0.0..most, 0.0..85.0)?;
    chart
        .configure_mesh()
        .x_desc("work of a call, milliseconds")
        .y_desc("calls a second")
        .draw()?;
    for (at, rate) in RATES.into_iter().enumerate() {
        let color = [RGBColor(31, 119, 180), RGBColor(44, 160, 44), RGBColor(214, 69, 29)][at];
        let line = points().map(|point| (point.work, point.rates[at]));
        chart
            .draw_series(LineSeries::new(line, color.stroke_width(2)))?
            .label(format!("{rate} Hz"))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    legend(&mut chart, SeriesLabelPosition::LowerLeft)
}
