//! The cost of a request as bars, a panel for each kind.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Counts, Report};
use crate::Result;
use crate::plot::{Area, Drawn, page};

const PANEL: (u32, u32) = (420, 380);

type Of = fn(&Counts) -> f64;

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let panels: [(&str, Of); 4] = [
        ("system calls", Counts::system_calls),
        ("locks (at most)", |counts| counts.locks),
        ("allocations", |counts| counts.allocations),
        ("CPU time, us", |counts| counts.user_us + counts.system_us),
    ];
    let title = format!("{}; for each request, client above server", report.machine);
    page(file, (PANEL.0 * 2, PANEL.1 * 2), &title, |area| {
        let places = area.split_evenly((2, 2));
        let mut drawn = places.iter().zip(panels);
        drawn.try_for_each(|(place, (caption, of))| draw_panel(report, caption, of, place))
    })
}

/// Two bars for each architecture, one below the other.
fn draw_panel<'a>(report: &Report, caption: &str, of: Of, panel: &Area<'a>) -> Drawn<'a> {
    let most =
        report.rows.iter().flat_map(|row| [of(&row.client), of(&row.server)]).fold(1.0, f64::max);
    let rows = report.rows.len();
    let mut chart = ChartBuilder::on(panel)
        .caption(caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(30)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..most * 1.1, 0.0..rows as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .y_labels(rows * 2 + 1)
        .y_label_formatter(&|at| {
            // The first architecture is at the top; its name stands between its bars.
            let row = rows.checked_sub(1 + *at as usize);
            match row.and_then(|row| report.rows.get(row)) {
                Some(row) if (at.fract() - 0.5).abs() < 0.01 => row.architecture.to_string(),
                _ => String::new(),
            }
        })
        .draw()?;
    let bars = report.rows.iter().enumerate().flat_map(|(at, row)| {
        let bottom = (rows - 1 - at) as f64;
        let color = row.architecture.color();
        let bar = |from: f64, to: f64, count: f64, color: RGBAColor| {
            Rectangle::new([(0.0, bottom + from), (count, bottom + to)], color.filled())
        };
        [
            bar(0.52, 0.85, of(&row.client), color.mix(1.0)),
            bar(0.15, 0.48, of(&row.server), color.mix(0.6)),
        ]
    });
    chart.draw_series(bars.collect::<Vec<_>>())?;
    Ok(())
}
