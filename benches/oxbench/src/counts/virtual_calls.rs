//! Virtual calls of a process: calls through a register or a table in memory, as for `dyn` methods and function
//! pointers.
//!
//! The disassembly identifies these instructions, and callgrind counts how often each of them called a function of this
//! program. Calls of library functions do not count, nor do the jumps of a `match`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// Reports whether the disassembler is installed.
pub(super) fn is_available() -> bool {
    let version = Command::new("objdump").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Addresses of the virtual calls in a program.
pub(super) struct Sites(HashSet<u64>);

impl Sites {
    /// Reads the addresses from the disassembly of a program.
    pub(super) fn of(program: &Path) -> Result<Sites> {
        let output =
            Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output()?;
        if !output.status.success() {
            return Err(format!("objdump cannot read {}", program.display()).into());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(Sites(text.lines().filter_map(site).collect()))
    }
}

/// Returns the address of a line of the disassembly, if it is a virtual call.
fn site(line: &str) -> Option<u64> {
    let (address, code) = line.trim_start().split_once(':')?;
    let mut words = code.split_whitespace();
    let mut operation = words.next()?;
    if matches!(operation, "bnd" | "notrack") {
        operation = words.next()?;
    }
    let target = words.next()?.strip_prefix('*')?;
    let virtual_call = match operation {
        "call" | "callq" => !target.contains("%rip"),
        "jmp" | "jmpq" => target.contains('(') && !target.contains("%rip"),
        _ => false,
    };
    virtual_call.then(|| u64::from_str_radix(address, 16).ok())?
}

/// Callgrind's output file with the cost of each instruction of one process.
pub(super) struct Profile(PathBuf);

impl Profile {
    /// Returns a new profile; `name` is unique within this run.
    pub(super) fn new(name: &str) -> Profile {
        let file = format!("oxbench-virtual-{}-{name}", std::process::id());
        Profile(std::env::temp_dir().join(file))
    }

    /// Wraps `command` so that its instructions are counted one by one.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("valgrind");
        wrapped.args([
            "-q",
            "--tool=callgrind",
            "--dump-instr=yes",
            "--compress-pos=no",
            "--compress-strings=no",
        ]);
        wrapped.arg(format!("--callgrind-out-file={}", self.0.display()));
        wrapped.arg(command.get_program()).args(command.get_args());
        wrapped
    }

    /// Returns the number of virtual calls that the ended process made in its own program.
    pub(super) fn virtual_calls(self, program: &Path, sites: &Sites) -> Result<u64> {
        let text = fs::read_to_string(&self.0)?;
        fs::remove_file(&self.0)?;
        let name = program
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Ok(count(&text, &name, sites))
    }
}

/// Sums the calls from the sites to functions of the program itself; functions of libraries called through a register
/// do not count. In the profile, `cob=` names the object of the called function if it is not the caller's,
/// `calls=COUNT` states the number of calls, and the next line begins with the address of the site.
fn count(text: &str, program: &str, sites: &Sites) -> u64 {
    let (mut ours, mut called_ours, mut calls, mut sum) = (false, true, None, 0);
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            ours = object.ends_with(program);
        } else if let Some(object) = line.strip_prefix("cob=") {
            called_ours = object.ends_with(program);
        } else if let Some(count) = line.strip_prefix("calls=") {
            calls = count.split_whitespace().next();
        } else if let Some(cost) = line.strip_prefix("0x")
            && let Some(count) = calls.take()
        {
            if ours && called_ours && is_at(cost, sites) {
                sum += count.parse().unwrap_or(0);
            }
            called_ours = true;
        }
    }
    sum
}

fn is_at(cost: &str, sites: &Sites) -> bool {
    let address = cost.split_whitespace().next();
    let address = address.and_then(|text| u64::from_str_radix(text, 16).ok());
    address.is_some_and(|address| sites.0.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_calls_are_told_from_other_jumps() {
        for (line, found) in [
            ("   1a2b:\tcall   *0x18(%rax)", Some(0x1a2b)),
            ("   1a2c:\tcall   *%r14", Some(0x1a2c)),
            ("   1a2d:\tjmp    *0x20(%rcx)", Some(0x1a2d)),
            ("   1a2e:\tnotrack jmp *%rax", None),
            ("   1a2f:\tcall   *0x2fe2(%rip)        # 5000 <write>", None),
            ("   1a30:\tcall   5000 <f>", None),
            ("0000000000001a2b <f>:", None),
        ] {
            assert_eq!(site(line), found, "{line}");
        }
    }

    #[test]
    fn calls_within_the_program_are_summed() {
        let sites = Sites([0x10, 0x20].into());
        let text = "ob=/x/oxbench\nfn=f\n0x10 5 3\ncfn=g\ncalls=3 0x90 7\n0x10 5 400\n0x20 6 2\n\
                    cob=/lib/libc.so\ncfn=memcpy\ncalls=9 0x5 1\n0x20 6 80\n\
                    cfn=h\ncalls=2 0x70 1\n0x20 6 80\ncfn=h\ncalls=4 0x70 1\n0x30 6 80\n\
                    ob=/lib/libc.so\ncalls=50 0x1 1\n0x20 1 50\n";
        assert_eq!(count(text, "oxbench", &sites), 5);
    }
}
