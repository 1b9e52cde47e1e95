//! Oneways a second as bars, as an SVG file: a panel for each load.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Report, Row};
use crate::Result;
use crate::plot::{Area, Drawn};

const PANEL: (u32, u32) = (460, 260);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let rows = report.loads().len().div_ceil(2).max(1);
    let size = (PANEL.0 * 2, PANEL.1 * rows as u32 + 40);
    let area = SVGBackend::new(file, size).into_drawing_area();
    // Errors of the drawing borrow the file's name.
    draw_panels(report, rows, &area)
        .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
    area.present()
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(())
}

fn draw_panels<'a>(report: &Report, rows: usize, area: &Area<'a>) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let title = format!("{}; {}", report.machine, report.placement);
    let area = area.titled(&title, ("sans-serif", 14))?;
    for (load, panel) in report.loads().into_iter().zip(area.split_evenly((rows, 2))) {
        let of_load: Vec<&Row> = report.rows.iter().filter(|row| row.load == load).collect();
        draw_panel(&load.to_string(), &of_load, &panel)?;
    }
    Ok(())
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
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_desc("million a second")
        .draw()?;
    for (at, row) in rows.iter().enumerate() {
        let color = row.mode.color();
        let left = at as f64;
        let bar = Rectangle::new(
            [(left + 0.15, 0.0), (left + 0.85, millions(row))],
            color.filled(),
        );
        chart
            .draw_series([bar])?
            .label(row.mode.to_string())
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 10, y + 4)], color.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
}
