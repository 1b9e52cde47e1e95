//! Instructions that callgrind counted, and their lines in the source text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Instructions of one process in its own program; libraries are left out. Callgrind wrote it with `--dump-instr=yes`,
/// `--compress-pos=no` and `--compress-strings=no`.
#[derive(Default, Debug, PartialEq)]
pub(super) struct Profile {
    /// How often each instruction was executed, by its address.
    executed: BTreeMap<u64, u64>,
    /// How often each call was made, by the addresses of the instruction and of the called function.
    calls: BTreeMap<(u64, u64), u64>,
}

impl Profile {
    /// Parses the output of callgrind. `ob=` names the object of the following lines, `cob=` that of the called
    /// function if it is another one, `calls=COUNT ADDRESS` announces that the next line is that of a call.
    pub(super) fn parse(text: &str, program: &Path) -> Profile {
        let name = program.file_name().map_or_else(String::new, |it| it.display().to_string());
        let is_own = |object: &str| object.rsplit('/').next() == Some(&*name);
        let mut profile = Profile::default();
        let (mut own, mut called, mut call) = (false, None, None);
        for line in text.lines() {
            if let Some(object) = line.strip_prefix("ob=") {
                own = is_own(object);
            } else if let Some(object) = line.strip_prefix("cob=") {
                called = Some(is_own(object));
            } else if let Some(announced) = line.strip_prefix("calls=") {
                let mut words = announced.split_whitespace();
                let count = words.next().and_then(|count| count.parse().ok());
                let to = words.next().and_then(address);
                call = Some((count.unwrap_or(0), to, called.take().unwrap_or(own)));
            } else if line.starts_with("0x") {
                let mut words = line.split_whitespace();
                let Some(at) = words.next().and_then(address) else {
                    continue;
                };
                match call.take() {
                    Some((count, Some(to), true)) if own => {
                        *profile.calls.entry((at, to)).or_default() += count;
                    }
                    Some(_) => {}
                    None if own => {
                        let count = words.nth(1).and_then(|count| count.parse().ok());
                        *profile.executed.entry(at).or_default() += count.unwrap_or(0);
                    }
                    None => {}
                }
            }
        }
        profile
    }

    /// Returns what was executed at least `times` / 2 times more often than in `fewer`: the part that each of `times`
    /// further requests executes, without what happens now and then.
    pub(super) fn beyond(&self, fewer: &Profile, times: u64) -> Profile {
        fn more<K: Ord + Copy>(
            many: &BTreeMap<K, u64>,
            few: &BTreeMap<K, u64>,
            least: u64,
        ) -> BTreeMap<K, u64> {
            let further =
                |key: &K, count: u64| count.saturating_sub(few.get(key).copied().unwrap_or(0));
            let all = many.iter().map(|(key, count)| (*key, further(key, *count)));
            all.filter(|(_, count)| *count >= least).collect()
        }
        Profile {
            executed: more(&self.executed, &fewer.executed, times / 2),
            calls: more(&self.calls, &fewer.calls, times / 2),
        }
    }

    /// Returns the addresses of the executed instructions.
    pub(super) fn executed(&self) -> impl Iterator<Item = u64> {
        self.executed.keys().copied()
    }

    /// Returns the calls: the addresses of the instruction and of the called function.
    pub(super) fn calls(&self) -> impl Iterator<Item = (u64, u64)> {
        self.calls.keys().copied()
    }

    /// Returns all addresses in the profile.
    pub(super) fn addresses(&self) -> BTreeSet<u64> {
        self.executed().chain(self.calls().flat_map(|(from, to)| [from, to])).collect()
    }
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// Line of the source text to which an instruction belongs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    pub(super) symbol: String,
    pub(super) file: String,
    pub(super) line: u32,
}

/// Returns the lines of each instruction: its own, then those of the functions into which the compiler inlined it.
pub(super) fn frames(
    program: &Path,
    addresses: &BTreeSet<u64>,
) -> Result<HashMap<u64, Vec<Frame>>, String> {
    let list = std::env::temp_dir().join(format!("oxorb-path-{}-addresses", std::process::id()));
    let text: String = addresses.iter().map(|address| format!("0x{address:x}\n")).collect();
    std::fs::write(&list, text)
        .map_err(|error| format!("cannot write {}: {error}", list.display()))?;
    let input =
        File::open(&list).map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    let output = Command::new("llvm-symbolizer")
        .arg(format!("--obj={}", program.display()))
        .args(["--inlines", "--functions=linkage", "--output-style=LLVM"])
        .stdin(input)
        .output();
    let _ = std::fs::remove_file(&list);
    let output = output
        .map_err(|error| format!("cannot run llvm-symbolizer, of the package llvm: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<Vec<Frame>> = text.trim_end().split("\n\n").map(parse).collect();
    if found.len() != addresses.len() {
        return Err(format!(
            "llvm-symbolizer answered for {} of {} addresses of {}",
            found.len(),
            addresses.len(),
            program.display()
        ));
    }
    Ok(addresses.iter().copied().zip(found).collect())
}

/// Parses the answer for one address: pairs of lines, a symbol and then `FILE:LINE:COLUMN`.
fn parse(answer: &str) -> Vec<Frame> {
    let lines: Vec<&str> = answer.lines().collect();
    let frame = |pair: &[&str]| {
        let mut place = pair.get(1)?.rsplitn(3, ':');
        let (_column, line, file) = (place.next()?, place.next()?, place.next()?);
        let (symbol, file) = (pair[0].to_owned(), file.to_owned());
        Some(Frame { symbol, file, line: line.parse().ok()? })
    };
    lines.chunks(2).filter_map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "ob=/x/oxbench\nfn=f\n0x10 5 3\ncfn=g\ncalls=3 0x90 7\n0x10 5 400\n0x20 6 2\n\
                       cob=/lib/libc.so\ncfn=memcpy\ncalls=9 0x5 1\n0x20 6 80\n\
                       ob=/lib/libc.so\n0x10 1 50\ncob=/x/oxbench\ncalls=50 0x10 1\n0x20 1 50\n";

    #[test]
    fn instructions_and_calls_of_the_program_are_read() {
        let profile = Profile::parse(LOG, Path::new("/target/debug/oxbench"));
        assert_eq!(profile.executed, BTreeMap::from([(0x10, 3), (0x20, 2)]));
        assert_eq!(profile.calls, BTreeMap::from([((0x10, 0x90), 3)]));
        assert_eq!(profile.addresses(), BTreeSet::from([0x10, 0x20, 0x90]));
    }

    #[test]
    fn what_further_requests_do_not_repeat_is_left_out() {
        let profile = |counts: &[(u64, u64)]| Profile {
            executed: counts.iter().copied().collect(),
            ..Profile::default()
        };
        let few = profile(&[(1, 100), (2, 7), (3, 40)]);
        let many = profile(&[(1, 500), (2, 8), (3, 40), (4, 400)]);
        let beyond: Vec<u64> = many.beyond(&few, 400).executed().collect();
        assert_eq!(beyond, [1, 4]);
    }

    #[test]
    fn the_frames_of_an_inlined_instruction_are_read_from_inside_out() {
        let frames =
            parse("take\n/w/crates/core/src/a.rs:7:9\ncall\n/w/crates/core/src/b.rs:70:13");
        let frame = |symbol: &str, file: &str, line| Frame {
            symbol: symbol.to_owned(),
            file: file.to_owned(),
            line,
        };
        assert_eq!(
            frames,
            [
                frame("take", "/w/crates/core/src/a.rs", 7),
                frame("call", "/w/crates/core/src/b.rs", 70)
            ]
        );
        assert_eq!(parse("??\n??:0:0")[0].line, 0);
    }
}
