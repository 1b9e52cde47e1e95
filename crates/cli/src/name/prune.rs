//! `oxorb name prune`: finds and removes names of objects that no longer exist.
//!
//! Workers take contexts and objects from one list. A context is listed and its bindings are added to the list; an
//! object is queried for its existence. A server that does not answer delays only one worker.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use oxorb::values::Printable;
use oxorb::{Interface as _, ObjectRef};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::{Name, Names};
use oxorb_sys::sync::{Condvar, Mutex};
use serde_json::json;

use super::NameServerArgs;
use super::bindings::{Budget, Health, Most, Summary, bindings, describe, object};
use oxorb_terminal::output::{BAD, Done, FAINT, Format, GOOD, STRONG, because, print, print_json};

/// Arguments of `oxorb name prune`.
#[derive(clap::Args)]
#[command(
    after_help = "The command calls the object of every name, several at a time. It shows the names whose object no \
    longer exists, whose server does not answer within the time-out, and that are bound to nil. With --yes, or if you \
    confirm the question, it removes these names; the objects and contexts themselves are not changed. A name that was \
    bound again in the meantime stays.\n\nA server that is temporarily down cannot be distinguished from one that no \
    longer exists. With --gone-only, the command removes only names whose server answers that there is no such \
    object.\n\nExit status 0: every remaining name leads to an object.\n\nExamples:\n  oxorb name prune\n  \
    oxorb name prune detectors --yes --timeout 500ms --format json"
)]
pub(crate) struct Args {
    /// Name of the context to begin at; default: the server's root
    #[arg(value_parser = super::name_argument)]
    name: Option<Name>,
    /// Remove names without confirmation
    #[arg(short, long)]
    yes: bool,
    /// Keep the names of objects that cannot be reached but may come back
    #[arg(long)]
    gone_only: bool,
    /// Maximum number of objects to query at once
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    #[command(flatten)]
    most: Most,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format; JSON never asks for confirmation
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: Args) -> Done {
    let (_orb, names) = args.at.each(args.name.as_ref())?;
    let survey = Survey::new(&names, args.most.budget());
    let progress = Progress::new(args.format);
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| survey.work(&progress));
        }
    });
    progress.end();
    let (mut checked, budget) = survey.into_checked();
    checked.sort_by_cached_key(|checked| checked.name.to_string());
    let alive = checked.iter().filter(|checked| checked.health == Health::Alive).count();
    let total = checked.len();
    checked.retain(|checked| checked.health != Health::Alive);
    if args.format == Format::Text {
        print(text(&checked, total, alive))?;
    }
    let remove = |checked: &Checked| match checked.health {
        Health::Alive | Health::Unknown(_) => false,
        Health::Gone | Health::Nil => true,
        Health::Unreachable(_) => !args.gone_only,
    };
    let count = checked.iter().filter(|checked| remove(checked)).count();
    let removing = count > 0 && (args.yes || confirmed(count, args.format)?);
    let mut rows = Vec::new();
    let mut left = 0;
    for checked in &checked {
        let mut row = json!({
            "name": checked.name.to_string(),
            "health": checked.health.word(),
            "why": checked.health.why(),
            "removed": false,
        });
        describe(checked.object.as_ref(), &mut row);
        if removing && remove(checked) {
            let outcome = checked.remove(&names);
            row["removed"] = json!(outcome.is_ok());
            if let Err(why) = &outcome {
                row["kept"] = json!(why);
            }
            left += usize::from(outcome.is_err());
            if args.format == Format::Text {
                let name = checked.name.to_string();
                let name = Printable(&name);
                print(match outcome {
                    Ok(()) => format!("removed {name}\n"),
                    Err(why) => format!("{BAD}kept{BAD:#} {name}: {}\n", Printable(&why)),
                })?;
            }
        } else {
            left += 1;
        }
        rows.push(row);
    }
    if args.format == Format::Json {
        print_json(&json!({ "checked": total, "alive": alive, "dead": rows }))?;
    }
    budget.end()?;
    match left {
        0 => Ok(()),
        left if args.format == Format::Json => {
            let _ = left;
            Err(oxorb_terminal::output::Failed::Told)
        }
        left => {
            let what = match left {
                1 => "1 name still leads to no object".to_owned(),
                left => format!("{left} names still lead to no object"),
            };
            Err(because(match removing || count == 0 {
                true => what,
                false => format!("{what}; --yes removes names without a question"),
            }))
        }
    }
}

/// Name that was checked.
struct Checked {
    name: Name,
    object: Option<ObjectRef>,
    health: Health,
}

impl Checked {
    /// Removes the binding, unless the name is bound to something else by now.
    fn remove(&self, names: &Names) -> Result<(), String> {
        let now = object(names, &self.name).map_err(|error| error.to_string())?;
        let ior = |object: &Option<ObjectRef>| object.as_ref().map(|object| object.to_ior());
        if ior(&now) != ior(&self.object) {
            return Err("it was bound again in the meantime".to_owned());
        }
        names.unbind(&self.name).map_err(|error| error.to_string())
    }
}

/// Survey of the names below a context, shared by the workers.
struct Survey {
    root: Names,
    /// Remaining budget of names.
    budget: Budget,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Task>,
    /// Running tasks, which may add others.
    running: usize,
    /// Contexts already listed.
    seen: HashSet<String>,
    checked: Vec<Checked>,
}

/// Name to check; `None` is the context to begin at.
struct Task {
    name: Option<Name>,
    is_context: bool,
}

impl Survey {
    fn new(names: &Names, budget: Budget) -> Survey {
        let begin = Task { name: None, is_context: true };
        let state = State {
            waiting: VecDeque::from([begin]),
            running: 0,
            seen: HashSet::new(),
            checked: Vec::new(),
        };
        Survey { root: names.clone(), budget, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn into_checked(self) -> (Vec<Checked>, Budget) {
        let state = self.state.into_inner();
        (state.checked, self.budget)
    }

    /// Checks one name after another until the list is empty and no running task can add to it.
    fn work(&self, progress: &Progress) {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.waiting.pop_front() {
                state.running += 1;
                drop(state);
                let (found, checked) = self.look(task);
                state = self.state.lock();
                state.running -= 1;
                state.waiting.extend(found);
                state.checked.extend(checked);
                progress.show(state.checked.len(), state.waiting.len());
                self.changed.notify_all();
            } else if state.running == 0 {
                return;
            } else {
                state = self.changed.wait(state);
            }
        }
    }

    /// Returns the follow-up tasks of a task, and the result for its name.
    fn look(&self, task: Task) -> (Vec<Task>, Option<Checked>) {
        let Some(name) = task.name else {
            let (found, _) = self.list(&self.root, None);
            return (found, None);
        };
        let (object, health, found) = match object(&self.root, &name) {
            Ok(Some(object)) if task.is_context => {
                let context = Names::new(object.unchecked_narrow::<NamingContextRef>());
                let (found, health) = self.list(&context, Some(&name));
                (Some(object), health, found)
            }
            Ok(Some(object)) => {
                let health = Health::of(&object);
                (Some(object), health, Vec::new())
            }
            Ok(None) => (None, Health::Nil, Vec::new()),
            // If the name was unbound after it was listed, there is nothing to remove.
            Err(error) => match Health::after_naming(&error) {
                Health::Alive | Health::Gone => return (Vec::new(), None),
                _ => (None, Health::Unknown(error.to_string()), Vec::new()),
            },
        };
        let checked = Checked { name, object, health };
        (found, Some(checked))
    }

    /// Lists a context, unless it was listed before.
    fn list(&self, context: &Names, name: Option<&Name>) -> (Vec<Task>, Health) {
        let root = context.root();
        let identity = root.to_corbaloc().unwrap_or_else(|| root.to_ior());
        if !self.state.lock().seen.insert(identity) {
            return (Vec::new(), Health::Alive);
        }
        match bindings(context, name, &self.budget) {
            Ok(found) => {
                let tasks = found
                    .into_iter()
                    .map(|found| Task { name: Some(found.name), is_context: found.is_context });
                (tasks.collect(), Health::Alive)
            }
            Err(exception) => (Vec::new(), Health::after(exception)),
        }
    }
}

fn text(dead: &[Checked], total: usize, alive: usize) -> String {
    let mut text = String::new();
    for checked in dead {
        let name = checked.name.to_string();
        let _ = write!(
            text,
            "{BAD}{:<12}{BAD:#} {STRONG}{}{STRONG:#}",
            checked.health.word(),
            Printable(&name)
        );
        if let Some(object) = &checked.object {
            let _ = write!(text, "  {FAINT}{}{FAINT:#}", Summary(object));
        }
        let _ = writeln!(text, "\n             {}", Printable(checked.health.why()));
    }
    let _ = match dead.len() {
        0 => writeln!(text, "{GOOD}all{GOOD:#} {total} names lead to objects that answer"),
        dead => writeln!(text, "{dead} of {total} names lead to no object, {alive} do"),
    };
    text
}

/// Asks for confirmation, if there is a terminal.
fn confirmed(count: usize, format: Format) -> Result<bool, oxorb_terminal::output::Failed> {
    let there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if format == Format::Json || !there {
        return Ok(false);
    }
    let names = if count == 1 { "name" } else { "names" };
    eprint!("remove {count} {names}? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Progress line on a terminal.
struct Progress(bool);

impl Progress {
    fn new(format: Format) -> Progress {
        Progress(format == Format::Text && std::io::stderr().is_terminal())
    }

    fn show(&self, checked: usize, waiting: usize) {
        if self.0 {
            let mut out = std::io::stderr().lock();
            let _ = write!(out, "\r{checked} names checked, {waiting} left \x1b[K");
            let _ = out.flush();
        }
    }

    fn end(&self) {
        if self.0 {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}
