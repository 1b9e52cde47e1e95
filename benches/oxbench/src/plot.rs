//! Drawings of reports as SVG files: panels with lines or with bars.

mod axis;

use std::fmt::Display;
use std::path::Path;

use plotters::prelude::*;

pub(crate) use self::axis::Axis;
use self::axis::Scale;
use crate::Result;

/// Drawing: panels below a title, in rows.
pub(crate) struct Drawing {
    /// Title, such as the machine.
    pub(crate) title: String,
    /// Number of panels in a row.
    pub(crate) across: usize,
    pub(crate) panels: Vec<Panel>,
}

/// Panel: two axes, and the series between them.
pub(crate) struct Panel {
    caption: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    legend: SeriesLabelPosition,
}

/// Points of one colour, drawn as a line through the points or as bars that end at them.
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

/// Size of a panel; one with many bars is higher.
const PANEL: (u32, u32) = (520, 380);

/// Height of a bar, and of the space above and below the bars.
const BAR: u32 = 18;
const ABOUT_BARS: u32 = 120;

/// Height of a drawing's title.
const TITLE: u32 = 40;

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
        Panel {
            caption: caption.to_string(),
            x,
            y,
            series: series.collect(),
            legend: SeriesLabelPosition::UpperLeft,
        }
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
        // Space for the legend below.
        let bottom = if series.len() > 1 { -1.0 } else { 0.0 };
        let top = rows.len() as f64;
        let names = rows.into_iter().map(|(name, _)| name).collect();
        let y = Axis::new("", Scale::Names(names, thickness)).between(bottom, top);
        let legend = SeriesLabelPosition::LowerRight;
        Panel { caption: caption.to_string(), x, y, series, legend }
    }

    /// Moves the legend to another corner.
    pub(crate) fn legend(self, legend: SeriesLabelPosition) -> Panel {
        Panel { legend, ..self }
    }

    fn height(&self) -> u32 {
        match self.y.scale {
            Scale::Names(..) => {
                let bars = self.series.iter().map(|series| series.points.len() as u32);
                let legend = if self.series.len() > 1 { self.series.len() as u32 } else { 0 };
                (bars.sum::<u32>() + legend) * BAR + ABOUT_BARS
            }
            _ => PANEL.1,
        }
    }

    fn draw<'a>(&self, area: &Area<'a>) -> Drawn<'a> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = self.x.ruler(points().map(|(x, _)| *x));
        let y = self.y.ruler(points().map(|(_, y)| *y));
        let left = x.ends.0;
        let room = match &self.y.scale {
            Scale::Names(names, _) => 16 + 7 * names.iter().map(String::len).max().unwrap_or(0),
            _ => 64,
        };
        let mut chart = ChartBuilder::on(area)
            .caption(&self.caption, ("sans-serif", 18))
            .margin(12)
            .margin_right(24)
            .x_label_area_size(36)
            .y_label_area_size(room as u32)
            .build_cartesian_2d(x, y)?;
        let mut mesh = chart.configure_mesh();
        if let Scale::Names(..) = self.y.scale {
            mesh.disable_y_mesh();
        }
        mesh.x_desc(&self.x.name)
            .y_desc(&self.y.name)
            .x_label_formatter(&|place| self.x.label(*place))
            .y_label_formatter(&|place| self.y.label(*place))
            .draw()?;
        // A single series has the second colour, because the first one is grey.
        let colors = COLORS.into_iter().cycle().skip(usize::from(self.series.len() == 1));
        let colored = self.series.iter().zip(colors);
        for (series, color) in colored.filter(|(series, _)| !series.points.is_empty()) {
            let (thin, filled) = (color.stroke_width(2), color.filled());
            let places = series.points.iter().map(|&(x, y)| (self.x.place(x), self.y.place(y)));
            let drawn = if let Scale::Names(_, thickness) = self.y.scale {
                let bars = places.map(|(end, middle)| {
                    let (top, bottom) = (middle + thickness / 2.0, middle - thickness / 2.0);
                    Rectangle::new([(left, top), (end, bottom)], filled)
                });
                let drawn = chart.draw_series(bars)?;
                drawn.legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 18, y + 4)], filled))
            } else {
                if series.points.len() <= DOTS {
                    chart.draw_series(places.clone().map(|at| Circle::new(at, 3, filled)))?;
                }
                let drawn = chart.draw_series(LineSeries::new(places, thin))?;
                drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], thin))
            };
            if !series.name.is_empty() {
                drawn.label(&series.name);
            }
        }
        if self.series.iter().any(|series| !series.name.is_empty()) {
            let mut labels = chart.configure_series_labels();
            labels.position(self.legend.clone()).background_style(WHITE.mix(0.8)).draw()?;
        }
        Ok(())
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl Drawing {
    /// Writes the drawing into an SVG file.
    pub(crate) fn save(&self, file: &Path) -> Result {
        if self.panels.is_empty() {
            return Err("nothing that is drawn was measured".into());
        }
        let columns = self.panels.len().min(self.across);
        let rows = self.panels.len().div_ceil(columns);
        let height = self.panels.iter().map(Panel::height).max().unwrap_or(PANEL.1);
        let size = (PANEL.0 * columns as u32, height * rows as u32 + TITLE);
        let area = SVGBackend::new(file, size).into_drawing_area();
        // Errors of the drawing borrow the file's name.
        self.draw(&area, (rows, columns))
            .map_err(|error| format!("cannot draw {}: {error}", file.display()))?;
        area.present().map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(())
    }

    fn draw<'a>(&self, area: &Area<'a>, split: (usize, usize)) -> Drawn<'a> {
        area.fill(&WHITE)?;
        let places = area.titled(&self.title, ("sans-serif", 14))?.split_evenly(split);
        self.panels.iter().zip(&places).try_for_each(|(panel, place)| panel.draw(place))
    }
}
