//! `oxbench redraw`: draws files of `--plot` again, from the data in them. After a change to the drawing, no experiment
//! must be repeated for its picture.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Drawing;
use crate::Result;

/// Options of `oxbench redraw`.
#[derive(Args)]
pub(crate) struct Options {
    /// SVG files that `--plot` wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Element of the SVG file with the data, as JSON.
const ELEMENT: (&str, &str) = ("<metadata>", "</metadata>");

/// Draws the files again.
pub(crate) fn run(options: &Options) -> Result {
    for file in &options.files {
        Drawing::read(file)?.save(file)?;
        eprintln!("drawn into {}", file.display());
    }
    Ok(())
}

impl Drawing {
    /// Reads the data of an SVG file that `save` wrote.
    fn read(file: &Path) -> Result<Drawing> {
        let text = fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let data = text.split_once(ELEMENT.0).and_then(|(_, rest)| rest.split_once(ELEMENT.1));
        let Some((data, _)) = data else {
            return Err(format!(
                "{} has no data: it was not written by `oxbench ... --plot`",
                file.display()
            )
            .into());
        };
        let data = data.replace("&lt;", "<").replace("&amp;", "&");
        Ok(serde_json::from_str(&data)
            .map_err(|error| format!("the data in {} are wrong: {error}", file.display()))?)
    }

    /// Adds the data to an SVG file.
    pub(super) fn add_data(&self, file: &Path) -> Result {
        let data = serde_json::to_string(self)?.replace('&', "&amp;").replace('<', "&lt;");
        let text = fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let drawn = text.trim_end().trim_end_matches("</svg>");
        let text = format!("{drawn}{}{data}{}\n</svg>\n", ELEMENT.0, ELEMENT.1);
        fs::write(file, text)
            .map_err(|error| format!("cannot write {}: {error}", file.display()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Panel};
    use super::*;

    /// Calls a function with the path of a new file, and then removes the file.
    fn with_file<T>(name: &str, then: impl FnOnce(&Path) -> T) -> T {
        let name = format!("oxbench-{}-{name}.svg", std::process::id());
        let file = std::env::temp_dir().join(name);
        let result = then(&file);
        let _ = fs::remove_file(&file);
        result
    }

    fn drawing() -> Drawing {
        let lines = [("a < b & c", vec![(1.0, 10.0), (100.0, 2_500.0)]), ("none", vec![])];
        let rows = [("first", [("x", 1.0), ("y", 2.0)]), ("second", [("x", 3.0), ("y", 4.0)])];
        let panels = vec![
            Panel::lines("lines", Axis::log("requests"), Axis::log("microseconds"), lines),
            Panel::lines("nothing", Axis::log(""), Axis::percentiles(), [("none", vec![])]),
            Panel::bars("bars", Axis::linear("calls"), rows),
        ];
        Drawing { title: "a machine".to_owned(), across: 2, panels }
    }

    #[test]
    fn a_drawing_is_drawn_again_from_its_data() {
        with_file("again", |file| {
            drawing().save(file).unwrap();
            let first = fs::read_to_string(file).unwrap();
            run(&Options { files: vec![file.to_owned()] }).unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), first);
            assert!(first.contains("a &lt; b &amp; c") && first.contains("\n1 k\n"), "{first}");
        });
    }

    #[test]
    fn only_what_was_measured_is_drawn() {
        with_file("measured", |file| {
            drawing().save(file).unwrap();
            let text = fs::read_to_string(file).unwrap();
            let (picture, data) = text.split_once(ELEMENT.0).unwrap();
            assert!(picture.contains("lines") && picture.contains("second"), "{picture}");
            assert!(!picture.contains("nothing") && !picture.contains("none\n"), "{picture}");
            assert!(data.contains("nothing"), "{data}");
        });
    }

    #[test]
    fn files_without_data_are_reported() {
        with_file("without", |file| {
            fs::write(file, "<svg></svg>").unwrap();
            let error = run(&Options { files: vec![file.to_owned()] }).unwrap_err();
            assert!(error.to_string().contains("has no data"), "{error}");
        });
    }
}
