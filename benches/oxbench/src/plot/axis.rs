//! Axes of drawings: positions of values, and labels.

use std::fmt::Display;
use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::Ranged;
use serde::{Deserialize, Serialize};

/// Axis: name with its unit, scale and extent.
#[derive(Serialize, Deserialize)]
pub(crate) struct Axis {
    pub(super) name: String,
    pub(super) scale: Scale,
    extent: Option<(f64, f64)>,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Scale {
    /// Linear from 0.
    Linear,
    /// Linear from the least value.
    Span,
    Log,
    /// Quantiles, by the number of nines.
    Nines,
    /// Categories from the top, and the thickness of a bar in them.
    Names(Vec<String>, f64),
}

impl Axis {
    pub(super) fn new(name: impl Display, scale: Scale) -> Axis {
        Axis { name: name.to_string(), scale, extent: None }
    }

    /// Creates a linear axis. It begins at 0, except as the x axis of lines, which begins at the least value.
    pub(crate) fn linear(name: impl Display) -> Axis {
        Axis::new(name, Scale::Linear)
    }

    /// Creates a logarithmic axis.
    pub(crate) fn log(name: impl Display) -> Axis {
        Axis::new(name, Scale::Log)
    }

    /// Creates an axis of quantiles, on which each further nine has the same width.
    pub(crate) fn percentiles() -> Axis {
        Axis::new("percentile", Scale::Nines)
    }

    /// Sets the extent; default: that of the points.
    pub(crate) fn between(self, from: f64, to: f64) -> Axis {
        Axis { extent: Some((from, to)), ..self }
    }

    /// Makes a linear axis begin at the least value.
    pub(super) fn fitted(self) -> Axis {
        match self.scale {
            Scale::Linear => Axis { scale: Scale::Span, ..self },
            _ => self,
        }
    }

    /// Returns the ruler for these values.
    pub(super) fn ruler(&self, values: impl Iterator<Item = f64>) -> Ruler {
        let ends = self.ends(values);
        Ruler { ends, ticks: self.ticks(ends) }
    }

    /// Returns the position of a value. Differences of positions are proportional to distances in the drawing.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Span | Scale::Names(..) => value,
            Scale::Log => value.max(1e-9).log10(),
            Scale::Nines => -(1.0 - value).max(1e-5).log10(),
        }
    }

    /// Returns the positions of the ends of the axis for these values.
    fn ends(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        if let Some((from, to)) = self.extent {
            return (self.place(from), self.place(to));
        }
        let places = values.map(|value| self.place(value)).filter(|place| place.is_finite());
        let ends = places.map(|place| (place, place));
        let ends = ends.reduce(|all, it| (all.0.min(it.0), all.1.max(it.1)));
        let (least, most) = ends.unwrap_or((0.0, 1.0));
        match &self.scale {
            Scale::Linear | Scale::Names(..) => (0.0, if most > 0.0 { most * 1.1 } else { 1.0 }),
            Scale::Span => {
                let beside = if most > least { (most - least) / 50.0 } else { 1.0 };
                (least - beside, most + beside)
            }
            Scale::Log => (least - 0.1, most + 0.1),
            Scale::Nines => (0.0, most.max(1.0)),
        }
    }

    /// Returns the positions of labels and grid lines.
    fn ticks(&self, (from, to): (f64, f64)) -> Vec<f64> {
        let every = |step: f64| {
            let steps = (from / step).floor() as i64..=(to / step).ceil() as i64;
            steps.map(move |at| at as f64 * step)
        };
        let mut ticks: Vec<f64> = match &self.scale {
            Scale::Linear | Scale::Span => {
                let least = (to - from) / 7.0;
                let ten = 10f64.powf(least.log10().floor());
                let steps = [1.0, 2.0, 5.0].map(|step| step * ten);
                every(steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * ten)).collect()
            }
            Scale::Log => {
                let digits: &[f64] = match to - from {
                    few if few < 0.8 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
                    some if some < 2.5 => &[1.0, 2.0, 5.0],
                    _ => &[1.0],
                };
                every(1.0).flat_map(|ten| digits.iter().map(move |it| ten + it.log10())).collect()
            }
            Scale::Nines => every(1.0).collect(),
            Scale::Names(names, _) => (0..names.len()).map(|at| at as f64 + 0.5).collect(),
        };
        ticks.retain(|place| (from - 1e-9..=to + 1e-9).contains(place));
        ticks
    }

    pub(super) fn label(&self, place: f64) -> String {
        let rounded = |value: f64| ((value * 1e6).round() / 1e6).to_string();
        let short = |value: f64| match value.abs() {
            999_999.999_999.. => format!("{} M", rounded(value / 1e6)),
            // A power of 10 is computed from its logarithm.
            999.999_999.. => format!("{} k", rounded(value / 1e3)),
            _ => rounded(value),
        };
        match &self.scale {
            Scale::Linear | Scale::Span => short(place),
            Scale::Log => short(10f64.powf(place)),
            Scale::Nines => rounded(100.0 * (1.0 - 10f64.powf(-place))),
            Scale::Names(names, _) => {
                names.iter().rev().nth(place as usize).cloned().unwrap_or_default()
            }
        }
    }
}

/// Positions of an axis's ends, and of its grid lines.
pub(super) struct Ruler {
    pub(super) ends: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (place - self.ends.0) / (self.ends.1 - self.ends.0);
        from + (f64::from(to - from) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, values: [f64; 2]) -> Vec<String> {
        let ticks = axis.ticks(axis.ends(values.into_iter()));
        ticks.iter().map(|place| axis.label(*place)).collect()
    }

    #[test]
    fn nines_become_percentiles() {
        assert_eq!(labels(Axis::percentiles(), [0.0, 0.999]), ["0", "90", "99", "99.9"]);
    }

    #[test]
    fn labels_are_round_numbers() {
        assert_eq!(labels(Axis::linear(""), [3.0, 0.5]), ["0", "0.5", "1", "1.5", "2", "2.5", "3"]);
        assert_eq!(labels(Axis::log(""), [1.0, 20.0]), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(Axis::log(""), [20.0, 40.0]), ["20", "30", "40", "50"]);
        assert_eq!(labels(Axis::log(""), [0.1, 100.0]), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(Axis::log(""), [900.0, 1e6]), ["1 k", "10 k", "100 k", "1 M"]);
        assert_eq!(labels(Axis::linear(""), [0.0, 2_000.0]), ["0", "500", "1 k", "1.5 k", "2 k"]);
    }

    #[test]
    fn the_x_axis_of_lines_begins_with_them() {
        let ends = Axis::linear("").fitted().ends([1.0, 51.0].into_iter());
        assert_eq!(ends, (0.0, 52.0));
        let ends = Axis::linear("").fitted().between(0.0, 60.0).ends([1.0].into_iter());
        assert_eq!(ends, (0.0, 60.0));
    }
}
