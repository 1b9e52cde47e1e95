//! `oxorb name tree`

use std::collections::HashMap;
use std::fmt::Write as _;

use oxorb::values::Printable;
use oxorb::{Interface as _, ObjectRef};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::{Name, Names};
use serde_json::{Value, json};

use super::NameServerArgs;
use super::bindings::{Budget, Found, Most, bindings, object};
use oxorb_terminal::output::{BAD, Done, FAINT, Format, STRONG, print, print_json};

/// Arguments of `oxorb name tree`.
#[derive(clap::Args)]
#[command(
    after_help = "Also follows names to other servers. Each context is shown only once, because contexts may contain \
    each other. Works with any ORB's name server."
)]
pub(crate) struct Args {
    /// Name of the context to begin at; default: the server's root
    #[arg(value_parser = super::name_argument)]
    name: Option<Name>,
    /// Maximum number of levels of contexts to show
    #[arg(long, default_value_t = 32, value_name = "N")]
    depth: usize,
    #[command(flatten)]
    most: Most,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: Args) -> Done {
    let (_orb, names) = args.at.context(args.name.as_ref())?;
    let mut walk = Walk {
        seen: HashMap::new(),
        depth: args.depth.min(DEEPEST),
        budget: args.most.budget(),
        text: String::new(),
    };
    walk.seen.insert(identity(&names), String::new());
    let rows = walk.below(&names, None, &mut Vec::new())?;
    match args.format {
        Format::Text => print(walk.text)?,
        Format::Json => print_json(&rows)?,
    }
    walk.budget.end()
}

struct Walk {
    /// Contexts, with the names under which they were first shown.
    seen: HashMap<String, String>,
    depth: usize,
    budget: Budget,
    text: String,
}

/// Maximum number of levels of nested contexts to follow: each takes stack space.
const DEEPEST: usize = 256;

impl Walk {
    /// Prints the bindings of a context; `last` states for the context and each one around it whether it is the last of
    /// its siblings.
    fn below(
        &mut self,
        context: &Names,
        name: Option<&Name>,
        last: &mut Vec<bool>,
    ) -> oxorb::Result<Vec<Value>> {
        let all = bindings(context, name, &self.budget)?;
        let (count, mut rows) = (all.len(), Vec::new());
        for (i, found) in all.iter().enumerate() {
            for last in &*last {
                self.text.push_str(if *last { "    " } else { "│   " });
            }
            let is_last = i + 1 == count;
            self.text.push_str(if is_last { "└── " } else { "├── " });
            let slash = if found.is_context { "/" } else { "" };
            let shown = found.last();
            let _ = write!(self.text, "{STRONG}{}{STRONG:#}{slash}", Printable(&shown));
            let mut row = found.to_json();
            match found.is_context {
                true => {
                    last.push(is_last);
                    self.context(context, found, last, &mut row);
                    last.pop();
                }
                false => self.text.push('\n'),
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Completes the line of a context and shows its bindings, or the reason why they cannot be shown.
    fn context(&mut self, around: &Names, found: &Found, last: &mut Vec<bool>, row: &mut Value) {
        let note = |text: &mut String, row: &mut Value, key: &str, note: String| {
            let style = if key == "error" { BAD } else { FAINT };
            let _ = writeln!(text, "  {style}{}{style:#}", Printable(&note));
            row[key] = json!(note);
        };
        let Some(own) =
            Name::new(found.name.components().last().cloned().into_iter().collect::<Vec<_>>())
        else {
            return;
        };
        let names = match object(around, &own) {
            Ok(Some(object)) => Names::new(object.unchecked_narrow::<NamingContextRef>()),
            Ok(None) => return note(&mut self.text, row, "error", "nil".to_owned()),
            Err(error) => return note(&mut self.text, row, "error", error.to_string()),
        };
        let name = found.name.to_string();
        if let Some(first) = self.seen.get(&identity(&names)) {
            row["same_as"] = json!(first);
            let first = if first.is_empty() { "the root" } else { first };
            let _ = writeln!(self.text, "  {FAINT}see {}{FAINT:#}", Printable(first));
            return;
        }
        self.seen.insert(identity(&names), name);
        if last.len() > self.depth {
            return note(&mut self.text, row, "cut", "deeper than --depth".to_owned());
        }
        let line = self.text.len();
        self.text.push('\n');
        match self.below(&names, Some(&found.name), last) {
            Ok(rows) => row["bindings"] = json!(rows),
            Err(exception) => {
                self.text.truncate(line);
                note(&mut self.text, row, "error", exception.to_string());
            }
        }
    }
}

/// Returns a text that is equal for two references to one context, unless its server has several addresses and returns
/// another one each time.
fn identity(context: &Names) -> String {
    let object: ObjectRef = context.root().unchecked_narrow();
    object.to_corbaloc().unwrap_or_else(|| object.to_ior())
}
