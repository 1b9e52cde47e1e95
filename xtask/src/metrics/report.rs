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
                "most": sums.most, "to_5": sums.share(1), "below_10": sums.share(2), "paper": paper,
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

    /// Returns the page of the experiment.
    pub(super) fn page(&self) -> String {
        let all = self.sums(None);
        let mut page = INTRODUCTION.to_owned();
        let mut line = |text: &str| writeln!(page, "{text}").expect("a string takes all");
        for task in TASKS {
            line(&self.sums(Some(task)).row(task.name, task.paper));
        }
        line(&all.row("All of these", None));
        line(SPREAD);
        line(&spread("OxORB", &all.spread, all.functions));
        line(&spread("OxORB, each `?` a decision", &all.spread_with_returns, all.functions));
        line("\n### The most complex functions\n");
        line("| Function | File | lines | v(G) |");
        line("|---|---|---|---|");
        for (_, file, function) in self.hardest() {
            let Function { name, lines, complexity, .. } = function;
            line(&format!("| `{name}` | `crates/{file}` | {lines} | {complexity} |"));
        }
        line(
            "\nThe numbers are counted in the source. They do not depend on the date or the machine.\n",
        );
        line("## Verdict\n");
        let percent = |bands| format!("{:.1} %", all.share(bands));
        line(&format!(
            "The functions of OxORB are simpler than those of TAO and SunSoft IIOP: {} have a complexity of at most 5 \
             and {}\nbelow 10. For TAO these shares are almost 70 % and 86 %.",
            percent(1),
            percent(2)
        ));
        page
    }
}

/// Beginning of the page, up to the rows of the tasks.
const INTRODUCTION: &str = r#"# Code metrics: lines, functions, complexity (E12)

## Question

How large and how complex is the code of each task of the ORB? Table 3 of "Patterns and Performance of Real-time Object
Request Brokers" answers this question for TAO and SunSoft IIOP. It gives the number of methods, the lines without
comments, and the mean cyclomatic complexity v(G).

## Command

```
cargo xtask metrics --write
```

This command writes this page. Without `--write` it prints the counts, and with `--format json` it prints them as JSON.

- Functions and methods with a body are counted, except those of tests, models and fuzz targets. A closure is part of
  the function that contains it. Bodies of macros are not examined.
- The lines of a function are those from its signature to its last brace that are neither blank nor comments.
- v(G) is 1 plus the number of decisions: each `if`, `while`, `for`, `let ... else`, guard, `&&` and `||`, and each arm
  of a `match` except one. A `?` is not a decision, because C++ exceptions are not counted either. The last row of the
  spread counts each `?` as a decision.
- `xtask/src/metrics/tasks.rs` assigns the files to tasks.

## Result

### By task

| Task | functions | lines | mean v(G) | highest v(G) | v(G) up to 5 | below 10 | TAO | SunSoft IIOP |
|---|---|---|---|---|---|---|---|---|
"#;

/// Text between the table of the tasks and the rows of OxORB in the table of the spread.
const SPREAD: &str = "
The columns of TAO and SunSoft IIOP give methods / lines / v(G), as printed in the paper.

The paper counts only the methods that a call passes through: 14 in TAO, and 10 in SunSoft IIOP. For OxORB, every
function in the files of a task is counted, including those that set up, reject and close. The numbers of functions and
lines are therefore comparable only between the tasks of OxORB. The complexity of a function is comparable with the
paper's values.

### Spread (the paper's Figure 52)

| | v(G) 1 to 5 | below 10 | 10 and more |
|---|---|---|---|
| TAO | almost 70 % | 86 % | 14 % |
| SunSoft IIOP | 55 % | | 29 % above 10 |";

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

    /// Returns the percentage of functions in the first bands.
    fn share(&self, bands: usize) -> f64 {
        let functions: usize = self.spread[..bands].iter().sum();
        let share = 100.0 * functions as f64 / self.functions.max(1) as f64;
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
            self.share(1),
            self.share(2),
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
                sums.share(1),
                sums.share(2),
                theirs(0).unwrap_or_default(),
                theirs(1).unwrap_or_default(),
            )?;
        }
        Ok(())
    }
}
