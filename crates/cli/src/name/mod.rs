//! `oxorb name`: serves names, and inspects and cleans up any ORB's name server.

mod bindings;
mod edit;
mod list;
mod prune;
mod serve;
mod tree;

use std::time::{Duration, SystemTime};

use oxorb::policy::ReplyEndTime;
use oxorb::{Builder, Orb};
use oxorb_naming::{Name, Names, PORT};

use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, because};

/// Verbs of `oxorb name`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Serve names, stored in a file that survives crashes
    Serve(serve::Args),
    /// List the bindings of a context
    #[command(visible_alias = "list")]
    Ls(list::Args),
    /// Show the bindings of a context and of all contexts below it
    Tree(tree::Args),
    /// Bind an object or a context to a name
    Bind(edit::BindArgs),
    /// Remove the binding of a name
    Unbind(edit::UnbindArgs),
    /// Make a context
    #[command(visible_alias = "mkdir")]
    Mkcontext(edit::MakeArgs),
    /// Destroy an empty context and remove its binding
    Rmdir(edit::RemoveArgs),
    /// Print the reference that a name is bound to
    Resolve(edit::ResolveArgs),
    /// Find names of objects that no longer exist, and remove them
    Prune(prune::Args),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Ls(args) => list::run(args),
        Command::Tree(args) => tree::run(args),
        Command::Bind(args) => edit::bind(args),
        Command::Unbind(args) => edit::unbind(args),
        Command::Mkcontext(args) => edit::make(args),
        Command::Rmdir(args) => edit::remove(args),
        Command::Resolve(args) => edit::resolve(args),
        Command::Prune(args) => prune::run(args),
    }
}

/// Name server to call, and the time limit.
#[derive(clap::Args)]
pub(crate) struct NameServerArgs {
    /// Naming context to begin at: IOR:, corbaloc:, corbaname: or file:. Default: -ORBInitRef NameService=URL, or else
    /// corbaloc::localhost:2809/NameService
    #[arg(long, value_name = "URL")]
    at: Option<String>,
    /// Time limit for all calls to name servers together; for prune, for each call and for each attempt to connect. For
    /// example 300ms; a bare number is milliseconds
    #[arg(long, default_value = "5s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    timeout: Duration,
}

impl NameServerArgs {
    /// Returns an ORB whose calls share the time limit, and the names below the context.
    fn connect(&self) -> Result<(Orb, Names), Failed> {
        let orb = with_args(self.builder()).build()?;
        let end = SystemTime::now() + self.timeout;
        orb.policies().set(ReplyEndTime(end))?;
        self.names(orb)
    }

    fn names(&self, orb: Orb) -> Result<(Orb, Names), Failed> {
        let names = match &self.at {
            Some(url) => Names::at(&orb, url),
            None => usual(&orb),
        };
        let names = names.map_err(|error| {
            because(format!(
                "{error}\nno name server was found. Specify one with --at URL or -ORBInitRef NameService=URL; `oxorb \
                 name serve` starts one"
            ))
        })?;
        Ok((orb, names))
    }

    fn builder(&self) -> Builder {
        Orb::builder().connect_timeout(self.timeout).round_trip_timeout(self.timeout)
    }

    /// Returns the context of a name, or the one to begin at.
    fn context(&self, name: Option<&Name>) -> Result<(Orb, Names), Failed> {
        self.connect().and_then(|found| below(found, name))
    }

    /// Returns [`context`](Self::context) with an ORB that applies the time limit to each call separately.
    fn each(&self, name: Option<&Name>) -> Result<(Orb, Names), Failed> {
        let orb = with_args(self.builder()).build()?;
        self.names(orb).and_then(|found| below(found, name))
    }
}

fn below((orb, names): (Orb, Names), name: Option<&Name>) -> Result<(Orb, Names), Failed> {
    match name {
        Some(name) => {
            let context = names.context(name)?;
            Ok((orb, context))
        }
        None => Ok((orb, names)),
    }
}

/// Returns the name server of the ORB's initial references, or else the one of this machine.
pub(crate) fn usual(orb: &Orb) -> Result<Names, oxorb::ResolveError> {
    match Names::of(orb) {
        Err(oxorb::ResolveError::UnknownName { .. }) => {
            let url = format!("corbaloc::localhost:{PORT}/{}", oxorb_naming::INITIAL_NAME);
            Names::at(orb, &url)
        }
        names => names,
    }
}

/// Parses a name; a URL in its place is rejected with a hint to the right option.
fn name_argument(text: &str) -> Result<Name, String> {
    let url = ["corbaname:", "corbaloc:", "IOR:"];
    text.parse().map_err(|invalid| match url.iter().any(|scheme| text.starts_with(scheme)) {
        true => {
            "a URL is not a name: specify the server with --at, and use the part after '#' as the name"
                .to_owned()
        }
        false => format!("{invalid}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_in_the_place_of_a_name_is_told_where_it_belongs() {
        let wrong = name_argument("corbaname::127.0.0.1:2809#Bank").unwrap_err();
        assert!(wrong.contains("--at"), "{wrong}");
        assert!(!name_argument("a.b.c").unwrap_err().contains("--at"));
        assert_eq!(name_argument("Bank/Teller.x").unwrap().to_string(), "Bank/Teller.x");
    }
}
