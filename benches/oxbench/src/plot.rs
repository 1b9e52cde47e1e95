//! Drawings of reports as SVG files: panels with lines or with bars. The names of lines and bars are right of each
//! panel.

mod axis;
mod names;
pub(crate) mod redraw;

use std::fmt::Display;
use std::path::Path;

use plotters::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use self::axis::Axis;
use self::axis::Scale;
use self::names::Name;
use crate::Result;

/// Drawing: panels below a title, in rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct Drawing {
    /// Title, such as the machine.
    pub(crate) title: String,
    /// Number of panels in a row.
    pub(crate) across: usize,
    pub(crate) panels: Vec<Panel>,
}

/// Panel: two axes, and the series between them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Panel {
    caption: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
}

/// Points of one colour, drawn as a line through the points or as bars that end at them.
#[derive(Serialize, Deserialize)]
struct Series {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Colours of series, in order.
const COLORS: [RGBColor; 14] = [
    RGBColor(120, 120, 120),
    RGBColor(31, 119, 180),
    RGBColor(214, 69, 29),
    RGBColor(44, 160, 44),
    RGBColor(230, 160, 30),
    RGBColor(148, 103, 189),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(188, 189, 34),
    RGBColor(227, 119, 194),
    RGBColor(150, 20, 60),
    RGBColor(60, 60, 60),
    RGBColor(174, 199, 232),
    RGBColor(197, 176, 213),
];

/// Size of a panel without the names of its series; one with many bars is higher.
const PANEL: (u32, u32) = (520, 380);

/// Height of a bar, and of the space above and below the bars.
const BAR: u32 = 18;
const ABOUT_BARS: u32 = 120;

/// Height of a drawing's title.
const TITLE: u32 = 40;

/// Width of a letter of a title or name, on average.
const LETTER: u32 = 7;

/// Fonts of titles and captions, and of all other text.
const LARGE: (&str, i32) = ("sans-serif", 20);
const SMALL: (&str, i32) = ("sans-serif", 15);

/// Maximum number of points of a line to be shown as dots.
const DOTS: usize = 24;

impl Panel {
    /// Creates a panel of lines: a name and points of each. A line without points is not drawn, but has a colour.
    pub(crate) fn lines<L: IntoIterator<Item = (f64, f64)>>(
        caption: impl Display,
        x: Axis,
        y: Axis,
        lines: impl IntoIterator<Item = (impl Display, L)>,
    ) -> Panel {
        let series = lines.into_iter().map(|(name, line)| Series {
            name: name.to_string(),
            points: line.into_iter().collect(),
        });
        let x = x.fitted();
        Panel { caption: caption.to_string(), x, y, series: series.collect() }
    }

    /// Creates a panel of bars: a name and bars of each row, from the top; a bar has a length and the name of its
    /// series, which is empty if there is only one.
    pub(crate) fn bars<B: IntoIterator<Item = (S, f64)>, S: Display>(
        caption: impl Display,
        x: Axis,
        rows: impl IntoIterator<Item = (impl Display, B)>,
    ) -> Panel {
        let rows = rows.into_iter().map(|(name, bars)| (name.to_string(), bars));
        let rows: Vec<(String, Vec<(S, f64)>)> =
            rows.map(|(name, bars)| (name, bars.into_iter().collect())).collect();
        let most = rows.iter().map(|(_, bars)| bars.len()).max().unwrap_or(1);
        let thickness = 0.8 / most as f64;
        let mut series: Vec<Series> = Vec::new();
        for (row, (_, bars)) in rows.iter().enumerate() {
            for (at, (name, length)) in bars.iter().enumerate() {
                let name = name.to_string();
                let known = series.iter().position(|series| series.name == name);
                let of = known.unwrap_or_else(|| {
                    series.push(Series { name, points: Vec::new() });
                    series.len() - 1
                });
                let top = (rows.len() - row) as f64 - 0.1;
                series[of].points.push((*length, top - (at as f64 + 0.5) * thickness));
            }
        }
        let top = rows.len() as f64;
        let names = rows.into_iter().map(|(name, _)| name).collect();
        let y = Axis::new("", Scale::Names(names, thickness)).between(0.0, top);
        Panel { caption: caption.to_string(), x, y, series }
    }

    fn height(&self) -> u32 {
        match self.y.scale {
            Scale::Names(..) => {
                let bars = self.series.iter().map(|series| series.points.len() as u32);
                bars.sum::<u32>() * BAR + ABOUT_BARS
            }
            _ => PANEL.1,
        }
    }

    /// Returns the series that are drawn, with their colours. A single series has the second colour, because the first
    /// one is grey.
    fn drawn(&self) -> impl Iterator<Item = (&Series, RGBColor)> {
        let colors = COLORS.into_iter().cycle().skip(usize::from(self.series.len() == 1));
        self.series.iter().zip(colors).filter(|(series, _)| !series.points.is_empty())
    }

    /// Returns the width that the names of the series need.
    fn names_width(&self) -> u32 {
        names::width(self.drawn().map(|(series, _)| series.name.as_str()))
    }

    fn draw<'a>(&self, area: &Area<'a>, names_width: u32) -> Drawn<'a> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = self.x.ruler(points().map(|(x, _)| *x));
        let y = self.y.ruler(points().map(|(_, y)| *y));
        let left = x.ends.0;
        let room = match &self.y.scale {
            Scale::Names(names, _) => {
                16 + LETTER * names.iter().map(|name| name.len() as u32).max().unwrap_or(0)
            }
            _ => 64,
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.caption, LARGE)
            .margin(12)
            .margin_right(24 + names_width)
            .x_label_area_size(44)
            .y_label_area_size(room)
            .build_cartesian_2d(x, y)?;
        let mut mesh = chart.configure_mesh();
        if let Scale::Names(..) = self.y.scale {
            mesh.disable_y_mesh();
        }
        mesh.x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .label_style(SMALL)
            .axis_desc_style(SMALL)
            .x_label_formatter(&|place| self.x.label(*place))
            .y_label_formatter(&|place| self.y.label(*place))
            .draw()?;
        let (columns, rows) = chart.plotting_area().get_pixel_range();
        let (from_left, from_top) = area.get_base_pixel();
        let mut names = Vec::new();
        for (series, color) in self.drawn() {
            let (thin, filled) = (color.stroke_width(2), color.filled());
            let places = series.points.iter().map(|&(x, y)| (self.x.place(x), self.y.place(y)));
            let end = places.clone().next_back().map(|at| chart.backend_coord(&at).1);
            if let Scale::Names(_, thickness) = self.y.scale {
                chart.draw_series(places.map(|(end, middle)| {
                    let (top, bottom) = (middle + thickness / 2.0, middle - thickness / 2.0);
                    Rectangle::new([(left, top), (end, bottom)], filled)
                }))?;
                // The names of bars begin at the top, in the order of the bars.
                names.push(Name { at: 0, text: &series.name, color });
            } else {
                if series.points.len() <= DOTS {
                    chart.draw_series(places.clone().map(|at| Circle::new(at, 3, filled)))?;
                }
                chart.draw_series(LineSeries::new(places, thin))?;
                let at = end.unwrap_or(rows.start).clamp(rows.start, rows.end) - from_top;
                names.push(Name { at, text: &series.name, color });
            }
        }
        let rows = rows.start - from_top..rows.end - from_top;
        names::draw(names, area, columns.end - from_left, rows)
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl Drawing {
    /// Writes the drawing into an SVG file, with its data.
    pub(crate) fn save(&self, file: &Path) -> Result {
        // A panel without points would be a frame with arbitrary scales.
        let panels: Vec<&Panel> =
            self.panels.iter().filter(|panel| panel.drawn().next().is_some()).collect();
        if panels.is_empty() {
            return Err("nothing that is drawn was measured".into());
        }
        let columns = panels.len().min(self.across);
        let rows = panels.len().div_ceil(columns);
        let height = panels.iter().map(|panel| panel.height()).max().unwrap_or(PANEL.1);
        let names = panels.iter().map(|panel| panel.names_width()).max().unwrap_or(0);
        let title = LETTER * self.title.len() as u32 + 24;
        let width = ((PANEL.0 + names) * columns as u32).max(title);
        let area = SVGBackend::new(file, (width, height * rows as u32 + TITLE)).into_drawing_area();
        // Errors of the drawing borrow the file's name.
        self.draw(&area, &panels, (rows, columns), names)
            .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
        area.present().map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        self.add_data(file)
    }

    fn draw<'a>(
        &self,
        area: &Area<'a>,
        panels: &[&Panel],
        split: (usize, usize),
        names: u32,
    ) -> Drawn<'a> {
        area.fill(&WHITE)?;
        let places = area.titled(&self.title, SMALL)?.split_evenly(split);
        panels.iter().zip(&places).try_for_each(|(panel, place)| panel.draw(place, names))
    }
}
