//! `oxorb ior`: explains object references.

use std::fmt::Write as _;

use oxorb::ior::Ior;
use oxorb::ior::describe::{
    self, ExplainedComponent, ExplainedContent, ExplainedField, ExplainedKey,
};
use oxorb::values::Printable;
use oxorb::{Interface, Orb};
use serde_json::{Value, json};

use crate::input;
use crate::reach;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{BAD, Done, FAINT, Format, STRONG, because, print, print_json};

/// Verbs of `oxorb ior`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Explain every profile and component of a reference
    #[command(
        after_help = "Examples:\n  oxorb ior show IOR:0000...\n  oxorb ior show corbaloc::host:2809/NameService\n  \
        oxorb ior show file:///tmp/account.ior\n  nameclt resolve Bank | oxorb ior show -"
    )]
    Show {
        /// IOR:, corbaloc:, corbaname:, file: or - for standard input
        reference: String,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    let Command::Show { reference, format } = command;
    let text = match reference.as_str() {
        "-" => input::stdin("a reference").map_err(because)?,
        _ => reference,
    };
    let orb = with_args(Orb::builder()).build()?;
    let object = orb.string_to_object(&text).map_err(because)?;
    let ior = object.reference().ior();
    let explained = describe::reference(ior);
    match format {
        Format::Text => print(as_text(ior, &explained)),
        Format::Json => print_json(&as_json(ior, &explained)),
    }
}

fn as_text(ior: &Ior, reference: &describe::ExplainedReference) -> String {
    let mut out = String::new();
    if reference.is_nil {
        return "nil: refers to no object\n".to_owned();
    }
    let type_id = match reference.type_id.as_str() {
        "" => "(not stated; ask the object)",
        id => id,
    };
    let type_id = Printable(type_id);
    let _ = writeln!(out, "{STRONG}type{STRONG:#}      {type_id}");
    if let Some(url) = oxorb::ior::corbaloc(ior) {
        let _ = writeln!(out, "{STRONG}corbaloc{STRONG:#}  {}", Printable(&url));
    }
    for (index, profile) in reference.profiles.iter().enumerate() {
        let _ = writeln!(
            out,
            "\n{STRONG}profile {}{STRONG:#}  {} {FAINT}(tag {}, {} octets){FAINT:#}",
            index + 1,
            profile.name.unwrap_or("unknown protocol, kept unchanged"),
            tag(profile.tag),
            profile.size
        );
        match &profile.content {
            ExplainedContent::Iiop { version, endpoints, key, components } => {
                let _ = writeln!(out, "  version    GIOP {version}");
                for (n, endpoint) in endpoints.iter().enumerate() {
                    let kind = if n == 0 { "address" } else { "alternate" };
                    let _ = match reach::doubt(&endpoint.host, endpoint.port) {
                        None => writeln!(out, "  {kind:<9}  {endpoint}"),
                        Some(why) => {
                            writeln!(out, "  {kind:<9}  {endpoint}  {BAD}{why}{BAD:#}")
                        }
                    };
                }
                key_text(&mut out, key);
                components_text(&mut out, components);
            }
            ExplainedContent::Addressed { version, address, key, components } => {
                let _ = writeln!(
                    out,
                    "  version    GIOP {version}\n  address    {address} {FAINT}(for this protocol, not for \
                     TCP){FAINT:#}"
                );
                key_text(&mut out, key);
                components_text(&mut out, components);
            }
            ExplainedContent::Unix { version, path, identity, key, components } => {
                let _ =
                    writeln!(out, "  version    GIOP {version}\n  socket     {}", Printable(path));
                for field in identity {
                    let _ = writeln!(out, "    {:<8} {}", field.label, Printable(&field.value));
                }
                key_text(&mut out, key);
                components_text(&mut out, components);
            }
            ExplainedContent::Placed { version, place, key, components } => {
                let _ =
                    writeln!(out, "  version    GIOP {version}\n  address    {}", Printable(place));
                key_text(&mut out, key);
                components_text(&mut out, components);
            }
            ExplainedContent::Components(components) => components_text(&mut out, components),
            ExplainedContent::Opaque { hex } => {
                let _ = writeln!(out, "  octets     {hex}");
            }
            ExplainedContent::Malformed { error, hex } => {
                let _ = writeln!(out, "  malformed  {error}\n  octets     {hex}");
            }
        }
    }
    out
}

fn key_text(out: &mut String, key: &ExplainedKey) {
    let _ = writeln!(
        out,
        "  key        {} {FAINT}({} octets){FAINT:#}",
        Printable(&key.text),
        key.octets
    );
    if let Some(maker) = key.maker {
        let _ =
            writeln!(out, "  made by    {maker} {FAINT}(judged by the form of the key){FAINT:#}");
    }
}

fn components_text(out: &mut String, components: &[ExplainedComponent]) {
    for component in components {
        let _ = writeln!(
            out,
            "  component  {} {FAINT}(tag {}){FAINT:#}",
            component.name.unwrap_or("unknown, kept unchanged"),
            tag(component.tag)
        );
        for field in &component.fields {
            let _ = writeln!(out, "    {:<16} {}", field.label, Printable(&field.value));
        }
        if let Some(error) = &component.error {
            let _ = writeln!(out, "    malformed        {error}");
        }
        if component.fields.is_empty() && !component.hex.is_empty() {
            let _ = writeln!(out, "    octets           {}", component.hex);
        }
    }
}

/// Formats a tag: a vendor's tag, which consists of four letters, in hexadecimal, and others in
/// decimal.
fn tag(tag: u32) -> String {
    if tag < 1000 { tag.to_string() } else { format!("0x{tag:08x}") }
}

fn as_json(ior: &Ior, reference: &describe::ExplainedReference) -> Value {
    let profiles: Vec<Value> = reference
        .profiles
        .iter()
        .map(|profile| {
            let mut value = match &profile.content {
                ExplainedContent::Iiop { version, endpoints, key, components } => json!({
                    "giop": version.to_string(),
                    "endpoints": endpoints.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    "unreachable": endpoints
                        .iter()
                        .filter_map(|at| Some((at.to_string(), reach::doubt(&at.host, at.port)?)))
                        .collect::<std::collections::BTreeMap<_, _>>(),
                    "key": key_json(key),
                    "components": components_json(components),
                }),
                ExplainedContent::Addressed { version, address, key, components } => json!({
                    "giop": version.to_string(),
                    "address": address.to_string(),
                    "key": key_json(key),
                    "components": components_json(components),
                }),
                ExplainedContent::Placed { version, place, key, components } => json!({
                    "giop": version.to_string(),
                    "address": place,
                    "key": key_json(key),
                    "components": components_json(components),
                }),
                ExplainedContent::Unix { version, path, identity, key, components } => json!({
                    "giop": version.to_string(),
                    "socket": path,
                    "identity": fields_json(identity),
                    "key": key_json(key),
                    "components": components_json(components),
                }),
                ExplainedContent::Components(components) => {
                    json!({ "components": components_json(components) })
                }
                ExplainedContent::Opaque { hex } => json!({ "hex": hex }),
                ExplainedContent::Malformed { error, hex } => {
                    json!({ "error": error.to_string(), "hex": hex })
                }
            };
            value["tag"] = profile.tag.into();
            value["name"] = profile.name.into();
            value
        })
        .collect();
    json!({
        "type_id": reference.type_id,
        "nil": reference.is_nil,
        "ior": ior.to_string(),
        "corbaloc": oxorb::ior::corbaloc(ior),
        "profiles": profiles,
    })
}

fn key_json(key: &ExplainedKey) -> Value {
    json!({ "text": key.text, "hex": key.hex, "made_by": key.maker })
}

fn components_json(components: &[ExplainedComponent]) -> Vec<Value> {
    components
        .iter()
        .map(|component| {
            json!({
                "tag": component.tag,
                "name": component.name,
                "fields": fields_json(&component.fields),
                "error": component.error.as_ref().map(ToString::to_string),
                "hex": component.hex,
            })
        })
        .collect()
}

fn fields_json(all: &[ExplainedField]) -> Value {
    let mut fields = serde_json::Map::new();
    for field in all {
        let value = Value::from(field.value.clone());
        match fields.get_mut(field.label) {
            None => {
                fields.insert(field.label.to_owned(), value);
            }
            // If a label occurs again, its values become a list, because a JSON object has unique keys.
            Some(Value::Array(all)) => all.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
    fields.into()
}
