//! Oneways a second as bars, as an SVG file: a panel for each load.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Report, Row};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 260);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let rows = report.loads().len().div_ceil(2).max(1);
    let size = (PANEL.0 * 2, PANEL.1 * rows as u32);
    let title = format!("{}; {}", report.machine, report.placement);
    page(file, size, &title, |area| {
        let panels = area.split_evenly((rows, 2));
        report.loads().into_iter().zip(&panels).try_for_each(|(load, panel)| {
            let rows: Vec<&Row> = report.rows.iter().filter(|row| row.load == load).collect();
            draw_panel(&load.to_string(), &rows, panel)
        })
    })
}

fn draw_panel<'a>(caption: &str, rows: &[&Row], panel: &Area<'a>) -> Drawn<'a> {
    let millions = |row: &Row| row.rate() as f64 / 1e6;
    let most = rows.iter().map(|row| millions(row)).fold(0.1, f64::max);
    let mut chart = ChartBuilder::on(panel)
        .caption(caption, ("sans-serif", 15))
        .margin(12)
        .x_label_area_size(20)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..rows.len().max(1) as f64, 0.0..most * 1.1)?;
    chart.configure_mesh().disable_x_mesh().x_labels(0).y_desc("million a second").draw()?;
    for (at, row) in rows.iter().enumerate() {
        let color = row.mode.color();
        let left = at as f64;
        let bar =
            Rectangle::new([(left + 0.15, 0.0), (left + 0.85, millions(row))], color.filled());
        chart
            .draw_series([bar])?
            .label(row.mode.to_string())
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 10, y + 4)], color.filled()));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}
