//! Counts as a table, as JSON and as a page.

use std::fmt::{self, Write as _};

use serde_json::json;

use super::complexity::Function;
use super::tasks::{TASKS, Task};

/// All counts.
#[derive(Default)]
pub(super) struct Report {
    functions: Vec<(&'static Task, String, Function)>,
}

/// Sums of one task, or of all.
#[derive(Default)]
struct Sums {
    functions: usize,
    lines: usize,
    complexity: usize,
    /// Number of functions with a complexity up to 5, from 6 to 9, and above.
    spread: [usize; 3],
    /// Number of functions in these bands if each `?` counts as a decision.
    spread_with_returns: [usize; 3],
    most: usize,
}

impl Report {
    pub(super) fn add(&mut self, task: &'static Task, file: &str, functions: Vec<Function>) {
        let found = functions.into_iter();
        self.functions.extend(found.map(|function| (task, file.to_owned(), function)));
    }

    /// Returns the number of functions of a task.
    #[cfg(test)]
    pub(super) fn count(&self, task: &str) -> usize {
        let of_it = |(its, ..): &&(&Task, String, Function)| its.name == task;
        self.functions.iter().filter(of_it).count()
    }

    fn sums(&self, task: Option<&Task>) -> Sums {
        let mut sums = Sums::default();
        for (its, _, function) in &self.functions {
            if task.is_some_and(|task| task != *its) {
                continue;
            }
            sums.functions += 1;
            sums.lines += function.lines;
            sums.complexity += function.complexity;
            sums.most = sums.most.max(function.complexity);
            sums.spread[band(function.complexity)] += 1;
            sums.spread_with_returns[band(function.complexity + function.early_returns)] += 1;
        }
        sums
    }

    /// Returns the functions of the highest complexity.
    fn hardest(&self) -> Vec<&(&'static Task, String, Function)> {
        let mut functions: Vec<_> = self.functions.iter().collect();
        functions.sort_by_key(|(_, _, function)| std::cmp::Reverse(function.complexity));
        functions.truncate(8);
        functions
    }

    pub(super) fn json(&self) -> String {
        let sums_of = |name: &str, sums: &Sums, paper: Option<[(u32, u32, u32); 2]>| {
            let paper = paper.map(|[tao, sunsoft]| json!({ "tao": tao, "sunsoft": sunsoft }));
            json!({
                "task": name, "functions": sums.functions, "lines": sums.lines, "complexity": sums.mean(),
                "most": sums.most, "to_5": sums.share(0), "below_10": sums.share(0) + sums.share(1), "paper": paper,
            })
        };
        let tasks: Vec<_> = TASKS
            .iter()
            .map(|task| sums_of(task.name, &self.sums(Some(task)), task.paper))
            .collect();
        let all = sums_of("all", &self.sums(None), None);
        let report = json!({ "tasks": tasks, "all": all });
        serde_json::to_string_pretty(&report).expect("strings and numbers are JSON")
    }

    pub(super) fn page(&self) -> String {
        let all = self.sums(None);
        let mut page = String::new();
        let mut line = |text: &str| writeln!(page, "{text}").expect("a string takes all");
        line("# Code metrics: lines, functions, complexity (E12)\n");
        line(
            "Table 3 of \"Patterns and Performance of Real-time Object Request Brokers\" gives the number of methods, the",
        );
        line(
            "lines without comments and the mean cyclomatic complexity v(G) of the methods that carry out each task, for",
        );
        line(
            "TAO and for SunSoft IIOP. This page has the same numbers of OxORB, as `cargo xtask metrics --write` counts",
        );
        line("them; `cargo xtask metrics` prints them, `--format json` for programs.\n");
        line("## By task\n");
        line(
            "| Task | functions | lines | mean v(G) | most | v(G) up to 5 | below 10 | TAO | SunSoft IIOP |",
        );
        line("|---|---|---|---|---|---|---|---|---|");
        for task in TASKS {
            line(&self.sums(Some(task)).row(task.name, task.paper));
        }
        line(&all.row("All of these", None));
        line(
            "\nThe columns of TAO and of SunSoft IIOP are methods / lines / v(G), as printed in the paper.\n",
        );
        line(
            "The paper counts the few methods that a call passes through: 14 in TAO, 10 in SunSoft IIOP. Here every function",
        );
        line(
            "of the files counts that belong to the task, set-up, refusals and closing included. So the lines and the numbers",
        );
        line(
            "of functions compare nothing but our tasks with each other; the complexity of a function compares with theirs.\n",
        );
        line("## Spread (the paper's Figure 52)\n");
        line("| | v(G) 1 to 5 | below 10 | 10 and more |");
        line("|---|---|---|---|");
        line("| TAO | almost 70 % | 86 % | 14 % |");
        line("| SunSoft IIOP | 55 % | | 29 % above 10 |");
        line(&spread("OxORB", &all.spread, all.functions));
        line(&spread("OxORB, each `?` a decision", &all.spread_with_returns, all.functions));
        line("\n## The most complex functions\n");
        line("| Function | File | lines | v(G) |");
        line("|---|---|---|---|");
        for (_, file, function) in self.hardest() {
            let Function { name, lines, complexity, .. } = function;
            line(&format!("| `{name}` | `crates/{file}` | {lines} | {complexity} |"));
        }
        line("\n## How it is counted\n");
        line(
            "- Functions are those with a body, methods included; tests, models and fuzz targets are left out. Bodies of",
        );
        line("  macros are not looked into. A closure counts with the function that it stands in.");
        line(
            "- Lines are those of the function, from its signature to its last brace, neither blank nor a comment.",
        );
        line(
            "- v(G) is one more than the decisions: `if`, `while`, `for`, `let ... else`, each arm of a `match` but one, each",
        );
        line(
            "  guard, `&&` and `||`. A `?` is none, as an exception of C++ is none; the last row of the spread says what it",
        );
        line("  would make of it.");
        line("- `xtask/src/metrics/tasks.rs` says which file belongs to which task.");
        page
    }
}

/// Returns 0 up to a complexity of 5, 1 up to 9, 2 above.
fn band(complexity: usize) -> usize {
    match complexity {
        0..=5 => 0,
        6..=9 => 1,
        _ => 2,
    }
}

fn spread(name: &str, spread: &[usize; 3], functions: usize) -> String {
    let share = |count: usize| 100.0 * count as f64 / functions.max(1) as f64;
    let [low, middle, high] = *spread;
    format!(
        "| {name} | {:.1} % | {:.1} % | {:.1} % |",
        share(low),
        share(low + middle),
        share(high)
    )
}

impl Sums {
    fn mean(&self) -> f64 {
        let mean = self.complexity as f64 / self.functions.max(1) as f64;
        (mean * 10.0).round() / 10.0
    }

    /// Returns the percentage of functions in a band.
    fn share(&self, band: usize) -> f64 {
        let share = 100.0 * self.spread[band] as f64 / self.functions.max(1) as f64;
        (share * 10.0).round() / 10.0
    }

    fn row(&self, name: &str, paper: Option<[(u32, u32, u32); 2]>) -> String {
        let theirs = paper.map_or([String::new(), String::new()], |both| {
            both.map(|(methods, lines, complexity)| format!("{methods} / {lines} / {complexity}"))
        });
        format!(
            "| {name} | {} | {} | {:.1} | {} | {:.1} % | {:.1} % | {} | {} |",
            self.functions,
            self.lines,
            self.mean(),
            self.most,
            self.share(0),
            self.share(0) + self.share(1),
            theirs[0],
            theirs[1],
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:50} {:>9} {:>7} {:>9} {:>5} {:>7} {:>9}   {:>12} {:>12}",
            "task",
            "functions",
            "lines",
            "mean v(G)",
            "most",
            "to 5",
            "below 10",
            "TAO",
            "SunSoft IIOP"
        )?;
        let tasks = TASKS.iter().map(|task| (task.name, Some(task)));
        for (name, task) in tasks.chain([("all of these", None)]) {
            let sums = self.sums(task);
            let theirs = |which: usize| {
                let (methods, lines, complexity) = task.and_then(|task| task.paper)?[which];
                Some(format!("{methods}/{lines}/{complexity}"))
            };
            writeln!(
                f,
                "{name:50} {:>9} {:>7} {:>9.1} {:>5} {:>6.1}% {:>8.1}%   {:>12} {:>12}",
                sums.functions,
                sums.lines,
                sums.mean(),
                sums.most,
                sums.share(0),
                sums.share(0) + sums.share(1),
                theirs(0).unwrap_or_default(),
                theirs(1).unwrap_or_default(),
            )?;
        }
        Ok(())
    }
}
