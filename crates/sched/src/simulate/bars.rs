//! Bar chart as an SVG picture: groups of operations along the axis, one bar for each strategy, as
//! in Figures 19 to 21.

use std::fmt::Write as _;

use super::gantt::escape;

/// Content of a bar chart.
#[derive(Debug, Clone)]
pub struct Bars<'a> {
    /// Title above the picture.
    pub title: &'a str,
    /// Unit of the vertical axis.
    pub unit: &'a str,
    /// Labels along the horizontal axis.
    pub groups: Vec<String>,
    /// Series: a name, and one value for each group.
    pub series: Vec<(String, Vec<f64>)>,
}

const LEFT: f64 = 80.0;
const TOP: f64 = 60.0;
const HEIGHT: f64 = 260.0;
const BAR: f64 = 16.0;
const COLORS: [&str; 6] = ["#d6451d", "#1f77b4", "#2ca02c", "#9467bd", "#8c6d31", "#777777"];

/// Returns the chart as SVG; values may be negative.
pub fn bars(bars: &Bars<'_>) -> String {
    let values = || bars.series.iter().flat_map(|(_, values)| values.iter().copied());
    let most = values().fold(0.0, f64::max);
    let least = values().fold(0.0, f64::min);
    let step = step(most - least, 6.0);
    let steps = (least / step).floor() as i64..=(most / step).ceil().max(1.0) as i64;
    let (least, most) = (*steps.start() as f64 * step, *steps.end() as f64 * step);
    let span = most - least;
    let y = |value: f64| TOP + HEIGHT * (most - value) / span;
    let group_width = BAR * bars.series.len() as f64 + 18.0;
    let width = LEFT + group_width * bars.groups.len() as f64 + 20.0;
    let mut svg = String::new();
    let _ = write!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {:.0}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{LEFT}" y="22" font-size="16">{}</text>
"##,
        TOP + HEIGHT + 40.0,
        escape(bars.title)
    );
    for (at, (name, _)) in bars.series.iter().enumerate() {
        let x = LEFT + 90.0 * at as f64;
        let color = COLORS[at % COLORS.len()];
        let _ = writeln!(
            svg,
            r##"<rect x="{x:.0}" y="32" width="12" height="12" fill="{color}"/><text x="{:.0}" y="43">{}</text>"##,
            x + 17.0,
            escape(name)
        );
    }
    for at in steps {
        let value = at as f64 * step;
        // The product is inexact.
        let label = (value * 1e6).round() / 1e6;
        let _ = writeln!(
            svg,
            r##"<path d="M{LEFT} {y:.1}H{width:.0}" stroke="#eee"/><text x="{:.0}" y="{:.1}" text-anchor="end">{label}</text>"##,
            LEFT - 6.0,
            y(value) + 4.0,
            y = y(value)
        );
    }
    let _ = writeln!(
        svg,
        r##"<text x="14" y="{:.0}" transform="rotate(-90 14 {0:.0})" text-anchor="middle">{}</text>"##,
        TOP + HEIGHT / 2.0,
        escape(bars.unit)
    );
    for (group, name) in bars.groups.iter().enumerate() {
        let left = LEFT + 9.0 + group_width * group as f64;
        for (at, (series, values)) in bars.series.iter().enumerate() {
            let value = values.get(group).copied().unwrap_or(0.0);
            let (from, to) = (y(value.max(0.0)), y(value.min(0.0)));
            let _ = writeln!(
                svg,
                r##"<rect x="{:.1}" y="{from:.1}" width="{:.1}" height="{:.1}" fill="{}"><title>{} {}: {value:.3}</title></rect>"##,
                left + BAR * at as f64,
                BAR - 2.0,
                (to - from).max(0.5),
                COLORS[at % COLORS.len()],
                escape(name),
                escape(series)
            );
        }
        let _ = writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
            left + (group_width - 18.0) / 2.0,
            TOP + HEIGHT + 20.0,
            escape(name)
        );
    }
    let _ = writeln!(svg, r##"<path d="M{LEFT} {:.1}H{width:.0}" stroke="#333"/>"##, y(0.0));
    svg.push_str("</svg>\n");
    svg
}

/// Returns a distance between grid lines of a round number (1, 2 or 5 times a power of ten), so that `span` has at most
/// `most` such distances.
pub(super) fn step(span: f64, most: f64) -> f64 {
    let least = if span > 0.0 { span / most } else { 1.0 };
    let ten = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|digit| digit * ten);
    // The logarithm is inexact.
    steps.into_iter().find(|step| *step >= least * 0.999_999).unwrap_or(10.0 * ten)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_lines_are_at_round_numbers() {
        let steps = [0.0, 1.0, 6.0, 10.0, 1_296.0, 1_534.0].map(|span| step(span, 6.0));
        assert_eq!(steps, [1.0, 0.2, 1.0, 2.0, 500.0, 500.0]);
    }

    #[test]
    fn the_grid_includes_the_axis_and_all_values() {
        let series = vec![("RMS".to_owned(), vec![910.0, -624.0])];
        let groups = vec!["low".to_owned(), "high".to_owned()];
        let svg = bars(&Bars { title: "Laxity", unit: "ms", groups, series });
        for label in ["-1000", "-500", "0", "500", "1000"] {
            assert!(svg.contains(&format!(">{label}</text>")), "{label}: {svg}");
        }
        assert!(!svg.contains(">1500</text>"), "{svg}");
    }

    #[test]
    fn each_value_is_a_bar_as_long_as_the_axis_says() {
        use oxorb_testkit::svg::elements;

        let groups = vec!["low".to_owned(), "high".to_owned()];
        let values = [("RMS", [10.0, -20.0]), ("EDF & co", [30.0, 5.0])];
        let series = values.map(|(name, values)| (name.to_owned(), values.to_vec())).to_vec();
        let all =
            elements(&bars(&Bars { title: "Laxity", unit: "ms", groups: groups.clone(), series }));
        let texts: Vec<_> = all.iter().filter(|it| it.name == "text").collect();
        assert!(texts.iter().any(|it| it.text == "ms" && it.attributes.contains_key("transform")));
        // Labels of the vertical axis: pixels of a unit, and of 0.
        let labels = texts.iter().filter_map(|it| {
            let is_label = it.attributes.get("text-anchor").is_some_and(|at| at == "end");
            is_label.then(|| (it.text.parse::<f64>().unwrap(), it.number("y") - 4.0))
        });
        let labels: Vec<(f64, f64)> = labels.collect();
        let (first, last) = (labels[0], labels[labels.len() - 1]);
        let scale = (first.1 - last.1) / (last.0 - first.0);
        let zero = first.1 + first.0 * scale;
        let bars: Vec<_> = all.iter().filter(|it| it.title.is_some()).collect();
        let expected = groups
            .iter()
            .enumerate()
            .flat_map(|(at, group)| values.map(|(series, values)| (group, series, values[at])));
        let expected: Vec<_> = expected.collect();
        assert_eq!(bars.len(), expected.len());
        for (bar, (group, series, value)) in bars.iter().zip(expected) {
            assert_eq!(bar.title.as_deref(), Some(&*format!("{group} {series}: {value:.3}")));
            let (top, height) = (bar.number("y"), bar.number("height"));
            assert!((height - value.abs() * scale).abs() < 0.2, "{bar:?}");
            let from_zero = if value < 0.0 { top } else { top + height };
            assert!((from_zero - zero).abs() < 0.2, "{bar:?}");
            // The legend names the color.
            let mut legend = all.iter().zip(&all[1..]).filter(|(_, next)| next.text == series);
            let (color, _) = legend.next().expect("the series is in the legend");
            assert_eq!(color.attribute("fill"), bar.attribute("fill"));
        }
    }

    #[test]
    fn a_chart_without_values_has_an_axis() {
        let svg = bars(&Bars { title: "", unit: "", groups: vec![], series: vec![] });
        assert!(svg.contains(">1</text>") && !svg.contains("NaN"), "{svg}");
    }
}
