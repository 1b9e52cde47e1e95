//! Names of series, right of the panel that shows the series: no name covers a line or a bar.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, Drawn, LETTER, SMALL};

/// Name of a series, and the height in the panel at which it is written.
pub(super) struct Name<'a> {
    /// Distance from the top of the panel, in pixels: the end of the line.
    pub(super) at: i32,
    pub(super) text: &'a str,
    pub(super) color: RGBColor,
}

/// Distance between two names.
const APART: i32 = 17;

/// Gap between the panel and the names; length of the mark in the colour of the series; width of gap, mark and space.
const GAP: i32 = 8;
const MARK: i32 = 16;
const BEFORE: u32 = 30;

/// Returns the width of a column with these names; a series without a name has none.
pub(super) fn width<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    let longest = names.map(|name| name.len() as u32).max().unwrap_or(0);
    if longest == 0 { 0 } else { BEFORE + LETTER * longest }
}

/// Writes the names to the right of a position, between two heights.
pub(super) fn draw<'a>(
    mut names: Vec<Name<'_>>,
    area: &Area<'a>,
    right_of: i32,
    heights: Range<i32>,
) -> Drawn<'a> {
    names.retain(|name| !name.text.is_empty());
    names.sort_by_key(|name| name.at);
    let mut places: Vec<i32> = names.iter().map(|name| name.at).collect();
    part(&mut places, heights);
    let style = TextStyle::from(SMALL).pos(Pos::new(HPos::Left, VPos::Center));
    let left = right_of + GAP;
    for (name, at) in names.iter().zip(places) {
        let mark = [(left, at - 2), (left + MARK, at + 2)];
        area.draw(&Rectangle::new(mark, name.color.filled()))?;
        area.draw(&Text::new(name.text, (left + MARK + 5, at), style.clone()))?;
    }
    Ok(())
}

/// Moves ascending places apart, so that neighbours are at least `APART` from each other. They stay within the heights
/// if these have room for all.
fn part(places: &mut [i32], heights: Range<i32>) {
    let mut least = heights.start + APART / 2;
    for place in places.iter_mut() {
        *place = (*place).max(least);
        least = *place + APART;
    }
    let mut most = heights.end - APART / 2;
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = *place - APART;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted<const N: usize>(mut places: [i32; N]) -> [i32; N] {
        part(&mut places, 0..100);
        places
    }

    #[test]
    fn names_apart_from_each_other_stay_at_the_ends_of_their_lines() {
        assert_eq!(parted([20, 50, 80]), [20, 50, 80]);
    }

    #[test]
    fn names_do_not_cover_each_other_nor_leave_the_panel() {
        assert_eq!(parted([50, 50, 51]), [50, 67, 84]);
        assert_eq!(parted([0, 0]), [8, 25]);
        assert_eq!(parted([30, 99, 99]), [30, 75, 92]);
    }
}
