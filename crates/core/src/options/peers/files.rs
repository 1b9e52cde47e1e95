//! Configuration files of other ORBs: TAO's `svc.conf`, omniORB's `omniORB.cfg`.

use std::fs::File;
use std::io::Read;

use super::super::Options;
use super::tao;

/// Largest configuration file that is read, in octets.
const LARGEST: u64 = 1 << 20;

/// Factories of TAO whose options are understood.
const FACTORIES: [&str; 5] = [
    "Resource_Factory",
    "Advanced_Resource_Factory",
    "Server_Strategy_Factory",
    "Client_Strategy_Factory",
    "RT_ORB_Loader",
];

/// Components without which a program does not work as intended.
const NEEDED: [&str; 2] = ["SSLIOP_Factory", "UIPMC_Factory"];

/// Applies the directives of a `svc.conf`.
pub(super) fn service_file(options: &mut Options, path: &str) -> Result<(), String> {
    let text = read(path)?;
    if text.trim_start().starts_with('<') {
        return Err(format!("{path} is in XML, but only the classic format is supported"));
    }
    for (at, line) in text.lines().enumerate() {
        directive(options, line).map_err(|problem| format!("{path}:{}: {problem}", at + 1))?;
    }
    Ok(())
}

/// Applies one directive, such as `static Client_Strategy_Factory "-ORBTransportMuxStrategy MUXED"`.
pub(super) fn directive(options: &mut Options, line: &str) -> Result<(), String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let mut words = line.split_whitespace();
    let (Some(verb), name) = (words.next(), words.next()) else {
        return Ok(());
    };
    let name = name.ok_or_else(|| format!("`{verb}` needs the name of a component"))?;
    match verb {
        "static" | "dynamic" => {}
        "suspend" | "resume" | "remove" | "stream" => {
            let line = format!("`{verb} {name}` is ignored: components are not exchanged");
            options.ignored.push(line);
            return Ok(());
        }
        _ => {
            return Err(format!("expected `static` or `dynamic` instead of `{verb}`"));
        }
    }
    if NEEDED.contains(&name) {
        return Err(tao::no_factory(name));
    }
    if !FACTORIES.contains(&name) {
        let line = format!("`{verb} {name}` is ignored: OxORB loads no components");
        options.ignored.push(line);
        return Ok(());
    }
    let quoted = line.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"'));
    let arguments = quoted.map_or("", |(arguments, _)| arguments);
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        let known = word.strip_prefix("-ORB").and_then(|name| {
            let mut known = tao::SERVICE_CONFIGURATOR.iter().chain(tao::COMMAND_LINE);
            known.find(|option| option.name.eq_ignore_ascii_case(name))
        });
        let option = known.ok_or_else(|| format!("{name} has no option {word}"))?;
        let value = match option.takes_value {
            true => words.next().ok_or_else(|| format!("{word} needs a value"))?,
            false => "",
        };
        options.take_peer(option, value).map_err(|error| error.to_string())?;
    }
    Ok(())
}

impl Options {
    /// Applies a file of omniORB's form, lines of `name = value`; names may be OxORB's, too.
    ///
    /// # Errors
    /// A sentence with file and line.
    pub fn take_omniorb_file(&mut self, path: &str) -> Result<(), String> {
        let text = read(path)?;
        for (at, line) in text.lines().enumerate() {
            let at = at + 1;
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, value) = line
                .split_once('=')
                .ok_or_else(|| format!("{path}:{at}: expected NAME = VALUE"))?;
            let args = [format!("-ORB{}", name.trim()), value.trim().to_owned()];
            self.take_args(args).map_err(|error| format!("{path}:{at}: {error}"))?;
        }
        Ok(())
    }
}

/// Reads a text file up to [`LARGEST`].
fn read(path: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{path} cannot be read: {error}");
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST {
        return Err(format!("{path} is larger than the limit of {LARGEST} octets"));
    }
    // An editor may have written a byte order mark, which does not belong to the text.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
