//! `oxorb ifr ls` and `show`: print the contents of a repository.

use std::fmt::Write as _;

use oxorb::values::Printable;

use super::definition::{Listed, Shown};
use super::running::Running;
use super::{RepositoryArgs, stored};
use oxorb_terminal::output::{Done, FAINT, Format, STRONG, print, print_json};

pub(super) fn list(name: Option<&str>, from: &RepositoryArgs, format: Format) -> Done {
    let found = match &from.at {
        None => stored::list(&from.place.repository()?, name)?,
        Some(url) => Running::connect(url, from.timeout)?.list(name, format == Format::Json)?,
    };
    if format == Format::Json {
        let rows = found.iter().map(|one| one.definition.summary());
        return print_json(&rows.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for Listed { depth, definition } in found {
        let _ = writeln!(
            text,
            "{:indent$}{FAINT}{}{FAINT:#} {STRONG}{}{STRONG:#}  {FAINT}{}{FAINT:#}",
            "",
            definition.word(),
            Printable(&definition.name),
            Printable(&definition.id),
            indent = depth * 2,
        );
    }
    print(text)
}

pub(super) fn show(name: &str, from: &RepositoryArgs, format: Format) -> Done {
    let Shown { definition, declaration, contents } = match &from.at {
        None => stored::show(&from.place.repository()?, name)?,
        Some(url) => Running::connect(url, from.timeout)?.show(name)?,
    };
    if format == Format::Json {
        let rows = contents.iter().map(|(definition, _)| definition.summary());
        let mut all = definition.summary();
        all["contents"] = rows.collect();
        return print_json(&all);
    }
    let mut text = String::new();
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}", Printable(&declaration));
    let _ = writeln!(text, "{FAINT}id{FAINT:#} {}", Printable(&definition.id));
    for (_, declaration) in contents {
        let _ = writeln!(text, "  {}", Printable(&declaration));
    }
    print(text)
}
