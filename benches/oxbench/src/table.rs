//! Tables of reports with aligned columns.

use std::fmt::{self, Display};

/// Minimum width of a column of numbers, so that the tables of one report are aligned.
const NARROWEST: usize = 8;

/// Table whose methods add columns, one for each heading, with a function for the cells of a row.
///
/// ```text
/// Table::of(&report.rows)
///     .left([""], |row| [row.contender])
///     .micros(["p50", "p99"], 1, |row| [row.p50, row.p99])
/// ```
pub(crate) struct Table<R> {
    columns: Vec<Column>,
    rows: Vec<(R, Vec<String>)>,
}

struct Column {
    heading: String,
    is_number: bool,
}

impl<R: Copy> Table<R> {
    /// Creates a table of `rows` without columns.
    pub(crate) fn of(rows: impl IntoIterator<Item = R>) -> Self {
        let rows = rows.into_iter().map(|row| (row, Vec::new()));
        Table { columns: Vec::new(), rows: rows.collect() }
    }

    /// Reports whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds columns of text.
    pub(crate) fn left<C: IntoIterator<Item: Display>>(
        self,
        headings: impl IntoIterator<Item: Display>,
        cells: impl Fn(R) -> C,
    ) -> Self {
        self.columns(false, headings, cells)
    }

    /// Adds right-aligned columns.
    pub(crate) fn right<C: IntoIterator<Item: Display>>(
        self,
        headings: impl IntoIterator<Item: Display>,
        cells: impl Fn(R) -> C,
    ) -> Self {
        self.columns(true, headings, cells)
    }

    /// Adds columns of numbers with a number of digits after the point.
    pub(crate) fn fixed<C: IntoIterator<Item: Into<Option<f64>>>>(
        self,
        headings: impl IntoIterator<Item: Display>,
        digits: usize,
        cells: impl Fn(R) -> C,
    ) -> Self {
        let show = |number: f64| format!("{number:.digits$}");
        self.right(headings, |row| cells(row).into_iter().map(|it| or_dash(it.into().map(show))))
    }

    /// Adds columns of times, given in nanoseconds and shown in microseconds.
    pub(crate) fn micros<C: IntoIterator<Item: Into<Option<u64>>>>(
        self,
        headings: impl IntoIterator<Item: Display>,
        digits: usize,
        cells: impl Fn(R) -> C,
    ) -> Self {
        let micros = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
        self.fixed(headings, digits, |row| cells(row).into_iter().map(|it| it.into().map(micros)))
    }

    /// Adds columns of shares, shown in percent.
    pub(crate) fn percent<C: IntoIterator<Item = f64>>(
        self,
        headings: impl IntoIterator<Item: Display>,
        digits: usize,
        cells: impl Fn(R) -> C,
    ) -> Self {
        let show = |share: f64| format!("{:.digits$} %", share * 100.0);
        self.right(headings, |row| cells(row).into_iter().map(show))
    }

    /// Adds columns; a row with fewer cells is blank in the rest.
    fn columns<C: IntoIterator<Item: Display>>(
        mut self,
        is_number: bool,
        headings: impl IntoIterator<Item: Display>,
        cells: impl Fn(R) -> C,
    ) -> Self {
        let column = |heading: &dyn Display| Column { heading: heading.to_string(), is_number };
        self.columns.extend(headings.into_iter().map(|heading| column(&heading)));
        for (row, line) in &mut self.rows {
            line.extend(cells(*row).into_iter().map(|cell| cell.to_string()));
            line.resize(self.columns.len(), String::new());
        }
        self
    }
}

impl<R> Display for Table<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings: Vec<&str> = self.columns.iter().map(|it| it.heading.as_str()).collect();
        let rows = self.rows.iter().map(|(_, line)| line.iter().map(String::as_str).collect());
        let lines: Vec<Vec<&str>> = std::iter::once(headings).chain(rows).collect();
        let width = |at: usize, column: &Column| {
            let widest = lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
            if column.is_number { widest.max(NARROWEST) } else { widest }
        };
        let columns: Vec<(bool, usize)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| (column.is_number, width(at, column)))
            .collect();
        for line in lines.iter().filter(|line| line.iter().any(|cell| !cell.is_empty())) {
            let cells = line.iter().zip(&columns).map(|(cell, &(is_number, width))| {
                if is_number { format!("  {cell:>width$}") } else { format!("  {cell:width$}") }
            });
            writeln!(f, "{}", cells.collect::<String>().trim_end())?;
        }
        Ok(())
    }
}

/// Formats a value that may be missing.
pub(crate) fn or_dash(cell: Option<impl Display>) -> String {
    cell.map_or_else(|| "-".to_owned(), |cell| cell.to_string())
}

/// Formats the lowest and the highest of ascending numbers, in multiples of `unit`.
pub(crate) fn spread(ascending: &[u64], unit: u64) -> String {
    let [lowest, highest] = [ascending.first(), ascending.last()]
        .map(|number| number.copied().unwrap_or_default() / unit);
    format!("{lowest} to {highest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_under_their_headings() {
        let table = Table::of([("ping", Some(1_500), 0.25), ("octets", None, 1.0)])
            .left([""], |(name, ..)| [name])
            .micros(["p50"], 2, |(_, time, _)| [time])
            .percent(["share of all"], 0, |(.., share)| [share]);
        let expected = "               p50  share of all\n  \
                          ping        1.50          25 %\n  \
                          octets         -         100 %\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_table_without_headings_has_no_line_for_them_and_a_row_may_end_early() {
        let table = Table::of([3, 1]).right(["", "", ""], |many| 1..=many);
        assert_eq!(table.to_string(), "         1         2         3\n         1\n");
    }
}
