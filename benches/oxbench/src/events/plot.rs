//! Two panels: time to the last consumer along the consumers, and along the octets of the payload.

use std::path::Path;

use plotters::prelude::*;

use super::report::{Report, Row};
use super::{Contender, Load, ONE};
use crate::Result;
use crate::plot::{Area, Drawn, legend, page};

const PANEL: (u32, u32) = (460, 380);

/// Draws `report` into `file`.
pub(super) fn draw(report: &Report, file: &Path) -> Result {
    let title = format!("{}; {}", report.machine, report.placement);
    page(file, (PANEL.0 * 2, PANEL.1), &title, |area| {
        let panels = area.split_evenly((1, 2));
        let along = |load: &Load| {
            (*load == Load { consumers: load.consumers, ..ONE }).then_some(load.consumers)
        };
        draw_panel(report, "8 octets, last consumer", "consumers", along, &panels[0])?;
        let along = |load: &Load| (*load == Load { size: load.size, ..ONE }).then_some(load.size);
        draw_panel(report, "1 consumer", "octets", along, &panels[1])
    })
}

fn draw_panel<'a>(
    report: &Report,
    caption: &str,
    unit: &str,
    along: impl Fn(&Load) -> Option<u32>,
    panel: &Area<'a>,
) -> Drawn<'a> {
    let rows: Vec<(f64, &Row)> =
        report.rows.iter().filter_map(|row| Some((f64::from(along(&row.load)?), row))).collect();
    let micros = |row: &Row| row.median(|seen| seen.p50).max(1) as f64 / 1e3;
    let values = || rows.iter().map(|(_, row)| micros(row));
    let (least, most) = (values().fold(1.0, f64::min), values().fold(1.0, f64::max));
    let places = || rows.iter().map(|(at, _)| *at);
    let (first, last) = (places().fold(f64::MAX, f64::min).min(1e6), places().fold(2.0, f64::max));
    let mut chart = ChartBuilder::on(panel)
        .caption(caption, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d((first..last).log_scale(), (least * 0.8..most * 1.2).log_scale())?;
    chart.configure_mesh().x_desc(unit).y_desc("p50, microseconds").draw()?;
    for (contender, color) in COLORS {
        let of = || rows.iter().filter(move |(_, row)| row.contender == contender);
        let line = of().map(|(at, row)| (*at, micros(row)));
        let style = color.stroke_width(2);
        if of().next().is_none() {
            continue;
        }
        chart
            .draw_series(LineSeries::new(line, style))?
            .label(contender.to_string())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], style));
    }
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

const COLORS: [(Contender, RGBColor); 11] = [
    (Contender::Raw, RGBColor(120, 120, 120)),
    (Contender::RawApart, RGBColor(180, 180, 180)),
    (Contender::OmniEvents, RGBColor(31, 119, 180)),
    (Contender::OxOrb, RGBColor(214, 69, 29)),
    (Contender::OxOrbUnix, RGBColor(255, 127, 14)),
    (Contender::OxOrbShm, RGBColor(188, 189, 34)),
    (Contender::Local, RGBColor(44, 160, 44)),
    (Contender::ZenohRouter, RGBColor(148, 103, 189)),
    (Contender::ZenohPeers, RGBColor(197, 176, 213)),
    (Contender::Cyclone, RGBColor(140, 86, 75)),
    (Contender::Iceoryx2, RGBColor(23, 190, 207)),
];
