//! `oxorb name bind`, `unbind`, `rmdir`, `mkcontext` and `resolve`

use oxorb::values::Printable;
use oxorb::{Interface as _, ObjectRef};
use oxorb_naming::cos_naming::NamingContextRef;
use oxorb_naming::cos_naming::naming_context::{DestroyError, NotFound, NotFoundReason};
use oxorb_naming::{Name, Names, NamingError, Problem};
use serde_json::json;

use super::NameServerArgs;
use super::bindings::{describe, object};
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_json};

/// Arguments of `oxorb name bind`.
#[derive(clap::Args)]
#[command(after_help = "Works with any ORB's name server.\n\nExamples:\n  \
    oxorb name bind bank/teller.object corbaloc::10.0.0.7:4711/Teller --parents\n  \
    oxorb name bind sites/north --context corbaloc::north.example:2809/NameService")]
pub(crate) struct BindArgs {
    /// Name, as id.kind/id.kind
    #[arg(value_parser = super::name_argument)]
    name: Name,
    /// Reference to bind: IOR:, corbaloc:, corbaname: or file:. The object is not called
    reference: String,
    /// Bind the reference as a naming context, so that names can be resolved through it
    #[arg(long)]
    context: bool,
    /// Replace an existing binding of the name
    #[arg(long)]
    rebind: bool,
    /// Make missing contexts on the path of the name
    #[arg(short, long)]
    parents: bool,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn bind(args: BindArgs) -> Done {
    let (orb, names) = args.at.connect()?;
    let object = orb.string_to_object(&args.reference)?;
    if args.parents {
        parents(&names, &args.name)?;
    }
    let bound = match (args.context, args.rebind) {
        (false, false) => names.bind(&args.name, &object),
        (false, true) => names.rebind(&args.name, &object),
        (true, rebind) => {
            let context = object.unchecked_narrow::<NamingContextRef>();
            match rebind {
                false => names.bind_context(&args.name, &context),
                true => names.rebind_context(&args.name, &context),
            }
        }
    };
    bound.map_err(|error| advised(&error, "--rebind replaces its binding"))?;
    done("bound", &args.name, Some(&object), args.format)
}

/// Arguments of `oxorb name unbind`.
#[derive(clap::Args)]
pub(crate) struct UnbindArgs {
    /// Name to unbind
    #[arg(value_parser = super::name_argument)]
    name: Name,
    /// Destroy the bound context, too; it must be empty
    #[arg(long)]
    destroy: bool,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn unbind(args: UnbindArgs) -> Done {
    let (_orb, names) = args.at.connect()?;
    if args.destroy {
        destroy(&names, &args.name)?;
    }
    names.unbind(&args.name)?;
    done("unbound", &args.name, None, args.format)
}

/// Arguments of `oxorb name rmdir`.
#[derive(clap::Args)]
pub(crate) struct RemoveArgs {
    /// Name of the context, which must be empty
    #[arg(value_parser = super::name_argument)]
    name: Name,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn remove(args: RemoveArgs) -> Done {
    let (_orb, names) = args.at.connect()?;
    destroy(&names, &args.name)?;
    names.unbind(&args.name)?;
    done("removed", &args.name, None, args.format)
}

/// Destroys the context of a name; the name stays bound.
fn destroy(names: &Names, name: &Name) -> Done {
    let context = names.context(name)?;
    let destroyed = context.root().destroy();
    destroyed.map_err(|error| match error {
        DestroyError::NotEmpty(_) => because(format!(
            "cannot destroy {name}: the context has bindings (NotEmpty); remove them first"
        )),
        error => because(format!("cannot destroy {name}: {error}")),
    })
}

/// Arguments of `oxorb name mkcontext`.
#[derive(clap::Args)]
pub(crate) struct MakeArgs {
    /// Name of the context
    #[arg(value_parser = super::name_argument)]
    name: Name,
    /// Make missing contexts on the path of the name, and succeed if the context exists
    #[arg(short, long)]
    parents: bool,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn make(args: MakeArgs) -> Done {
    let (_orb, names) = args.at.connect()?;
    let made = match args.parents {
        true => names.make_contexts(&args.name)?,
        false => names
            .make_context(&args.name)
            .map_err(|error| advised(&error, "--parents accepts a context that exists"))?,
    };
    let made = made.root().unchecked_narrow();
    done("made", &args.name, Some(&made), args.format)
}

/// Arguments of `oxorb name resolve`.
#[derive(clap::Args)]
#[command(
    after_help = "The object is not called; `oxorb ping corbaname::HOST#NAME` does that.\n\nExamples:\n  \
    oxorb name resolve bank/teller.object\n  oxorb ior show \"$(oxorb name resolve bank/teller.object)\""
)]
pub(crate) struct ResolveArgs {
    /// Name to resolve
    #[arg(value_parser = super::name_argument)]
    name: Name,
    /// Print a corbaloc: URL instead of an IOR:
    #[arg(long)]
    corbaloc: bool,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn resolve(args: ResolveArgs) -> Done {
    let (_orb, names) = args.at.connect()?;
    let found = object(&names, &args.name)?;
    if args.format == Format::Json {
        return done("resolved", &args.name, found.as_ref(), args.format);
    }
    let found = found.ok_or_else(|| because(format!("{} is bound to nil", args.name)))?;
    let text = match args.corbaloc {
        false => found.to_ior(),
        true => found.to_corbaloc().ok_or_else(|| {
            because("the reference has no IIOP profile, so it has no corbaloc: URL")
        })?,
    };
    print(format_args!("{text}\n"))
}

/// Creates the missing contexts on the path of a name.
fn parents(names: &Names, name: &Name) -> Result<(), Failed> {
    if let Some(parent) = name.parent() {
        names.make_contexts(&parent)?;
    }
    Ok(())
}

/// Returns an error with the option that avoids it; `if_bound` describes the option for a name that is bound.
fn advised(error: &NamingError, if_bound: &str) -> Failed {
    match &error.problem {
        Problem::AlreadyBound => because(format!("{error}; {if_bound}")),
        Problem::NotFound(NotFound { why: NotFoundReason::MissingNode, .. }) => {
            because(format!("{error}; --parents makes the missing contexts"))
        }
        _ => because(error),
    }
}

fn done(what: &str, name: &Name, object: Option<&ObjectRef>, format: Format) -> Done {
    match format {
        Format::Text => print(format_args!("{what} {}\n", Printable(&name.to_string()))),
        Format::Json => {
            let mut row = json!({ "name": name.to_string(), "done": what });
            describe(object, &mut row);
            print_json(&row)
        }
    }
}
