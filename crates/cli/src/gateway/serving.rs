//! Gateways as their files describe them.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use oxorb::bridge::{Interfaces, Statistics};
use oxorb::config::GatewayFile;
use oxorb::gateway::{Fate, Gateway, GatewaySettings, Side, SigningKey};
use oxorb::ior::Ior;
use oxorb::values::Printable;
use oxorb::{Builder, Interface as _, Orb};
use oxorb_ifr::types::Types;
use serde_json::{Value, json};

use super::repository;
use crate::bridge;
use crate::idl::Reading;
use crate::input;
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{
    BAD, Done, Failed, Format, STRONG, because, counted, print, print_json, print_line, warning,
};

/// Serves until a signal ends the process.
pub(super) fn serve(path: &Path, reading: &Reading, format: Format) -> Done {
    let file = GatewayFile::read(path)?;
    let (gateway, types) = gateway(&file, reading, |builder| builder)?;
    open_names(&gateway, &file, types.as_ref())?;
    gateway.listen().map_err(|error| because(format!("{}: {error}", path.display())))?;
    if file.key.is_none() {
        warning(
            "the file contains no `key`: references of the gateway are valid only while the gateway runs",
        );
    }
    for object in &file.objects {
        let name = &object.name;
        let reference = gateway.reference(name);
        let reference = reference.map_err(|error| because(format!("{}: {error}", object.place)))?;
        let type_id = &reference.reference().ior().type_id;
        if type_id.is_empty() {
            warning(&format!(
                "{}: the interface of {name} is unknown: the reference does not state it, and the target did not \
                 answer; name it with `interface`",
                object.place
            ));
        } else if (!file.idl.is_empty() || file.ifr.is_some()) && !gateway.knows(type_id) {
            warning(&format!(
                "{}: no IDL and no repository has the interface {type_id:?} of {name}; name it with `interface`",
                object.place
            ));
        }
        match format {
            Format::Text => print(format_args!("{name} {}\n", reference.to_ior()))?,
            Format::Json => print_line(&json!({
                "name": name,
                "ior": reference.to_ior(),
                "type_id": type_id,
            }))?,
        }
    }
    heed_signals(gateway.orb(Side::Outside))?;
    gateway.orb(Side::Inside).reload_security_on_signal()?;
    gateway.run();
    tell(gateway.statistics(), format)
}

/// Reports what becomes of a reference.
pub(super) fn check(path: &Path, reference: &str, reading: &Reading, format: Format) -> Done {
    let text = match reference {
        "-" => input::stdin("a reference").map_err(because)?,
        _ => reference.to_owned(),
    };
    let orb = with_args(Orb::builder()).build()?;
    let object = orb.string_to_object(&text).map_err(because)?;
    let ior = object.reference().ior();
    let file = GatewayFile::read(path)?;
    // A gateway with this file may be running, and has the ports. Names need not be opened: their targets would be
    // called, and names are not recognized without the addresses of the gateway.
    let (gateway, _) = gateway(&file, reading, |builder| {
        builder.configure(|options| {
            options.metrics = None;
            options.preconnect.clear();
        })
    })?;
    let sides = [Side::Outside, Side::Inside];
    let fates = sides.map(|side| (side, gateway.fate(ior, side)));
    let is_known = gateway.knows(&ior.type_id);
    match format {
        Format::Text => {
            let mut out = String::new();
            for (side, fate) in &fates {
                let _ = writeln!(out, "{STRONG}from {side:<8}{STRONG:#}  {}", as_text(fate));
            }
            let known = match is_known {
                true => "known: operations that carry references are decoded",
                false => {
                    "unknown: arguments and results are treated according to the setting `unknown`"
                }
            };
            let known = match ior.type_id.as_str() {
                "" => "not stated in the reference; the gateway asks the target for it".to_owned(),
                id => format!("{} {known}", Printable(id)),
            };
            let _ = writeln!(out, "{STRONG}interface{STRONG:#}      {known}");
            print(out)
        }
        Format::Json => {
            let [(_, outside), (_, inside)] = &fates;
            print_json(&json!({
                "outside": as_json(outside),
                "inside": as_json(inside),
                "type_id": ior.type_id,
                "interface_known": is_known,
            }))
        }
    }
}

/// Creates the gateway of a file, without its names, and the types that it knows. `change` changes both sides.
fn gateway(
    file: &GatewayFile,
    reading: &Reading,
    change: fn(Builder) -> Builder,
) -> Result<(Gateway, Option<Types>), Failed> {
    let types = match file.idl.is_empty() {
        true => None,
        false => Some(Types::new(reading.model(&file.idl)?)),
    };
    let mut interfaces = Interfaces::default();
    repository::add(file, &mut interfaces)?;
    // IDL files replace what the repository has.
    bridge::add_known(types.as_ref(), &mut interfaces)?;
    let settings = GatewaySettings {
        interfaces,
        unknown: file.unknown,
        callbacks: file.callbacks.clone(),
        ..GatewaySettings::new(key(file)?)
    };
    let [outside, inside] =
        [file.outside(), file.inside()].map(|builder| change(with_args(builder)));
    Ok((Gateway::new(outside, inside, settings)?, types))
}

/// Opens the names of a file.
fn open_names(gateway: &Gateway, file: &GatewayFile, types: Option<&Types>) -> Done {
    for object in &file.objects {
        let at = |what: &dyn std::fmt::Display| because(format!("{}: {what}", object.place));
        let opened = match &object.interface {
            None => gateway.open(&object.name, &object.reference),
            Some(interface) => {
                let id = repository_id(interface, types).map_err(|why| at(&why))?;
                gateway.open_as(&object.name, &object.reference, &id)
            }
        };
        opened.map_err(|error| at(&error))?;
    }
    Ok(())
}

fn key(file: &GatewayFile) -> Result<SigningKey, Failed> {
    let Some(path) = &file.key else {
        return Ok(SigningKey::random()?);
    };
    let at = |what: &dyn std::fmt::Display| because(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| at(&error))?;
    let mode = file.metadata().map_err(|error| at(&error))?.permissions().mode();
    if mode & 0o027 != 0 {
        return Err(at(&"every user can read the key, or its group can change it: chmod 600"));
    }
    let octets = input::octets_of(file, "a key").map_err(|error| at(&error))?;
    SigningKey::from_octets(&octets).map_err(|error| at(&error))
}

fn repository_id(interface: &str, types: Option<&Types>) -> Result<String, String> {
    match types {
        Some(types) => match types.interface(interface) {
            Ok(interface) => Ok(interface.repository_id),
            Err(error) => Err(error.to_string()),
        },
        None if interface.starts_with("IDL:") => Ok(interface.to_owned()),
        None => Err(format!(
            "interface {interface}: name the IDL file that declares it with `idl`, or write its repository id"
        )),
    }
}

fn as_text(fate: &Fate) -> String {
    match fate {
        Fate::Unchanged => "passes unchanged".to_owned(),
        Fate::Original(target) => {
            format!("becomes the reference of its target: {}", Printable(&url(target)))
        }
        Fate::Own(_) => "becomes the gateway's own reference to the same object".to_owned(),
        Fate::Replaced(_) => {
            "is replaced by an object of the gateway, which forwards to it".to_owned()
        }
        Fate::Refused(reason) => format!("{BAD}is refused{BAD:#}: {}", Printable(reason)),
    }
}

fn as_json(fate: &Fate) -> Value {
    match fate {
        Fate::Unchanged => json!({ "fate": "unchanged" }),
        Fate::Original(target) => json!({ "fate": "original", "target": target.to_string() }),
        Fate::Own(target) => json!({ "fate": "own", "target": target.to_string() }),
        Fate::Replaced(target) => json!({ "fate": "replaced", "target": target.to_string() }),
        Fate::Refused(reason) => json!({ "fate": "refused", "reason": reason }),
    }
}

fn url(ior: &Ior) -> String {
    oxorb::ior::corbaloc(ior).unwrap_or_else(|| ior.to_string())
}

fn tell(passed: Statistics, format: Format) -> Done {
    match format {
        Format::Text => print(format_args!(
            "{} answered, {}, {} failed; {} replaced, {} refused\n",
            counted(passed.answered, "request"),
            counted(passed.oneways, "oneway"),
            passed.failed,
            counted(passed.references, "reference"),
            passed.refused,
        )),
        Format::Json => print_line(&json!({
            "answered": passed.answered,
            "oneways": passed.oneways,
            "failed": passed.failed,
            "octets": passed.octets,
            "rewritten": passed.rewritten,
            "references": passed.references,
            "refused": passed.refused,
        })),
    }
}
