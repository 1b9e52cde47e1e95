//! Profile of a process by callgrind: instructions, atomic operations, calls of the allocator and of the system's
//! mutexes.
//!
//! An uncontended lock leaves no trace outside the process, and inlined locks are not visible as functions. But locks
//! of Rust, of the C library and of C++ are futexes, and taking one requires an atomic compare-and-swap of at most 32
//! bits: the number of these instructions bounds the number of locks taken, and zero proves that there were none. The
//! profile counts each instruction, the disassembler identifies the atomic ones; thus the measure is the same for every
//! ORB. (Lock-free swaps of pointers are compare-and-swaps of 64 bits.)

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// Callgrind's output file for one process.
pub(super) struct Log(PathBuf);

/// Totals of one process.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Profile {
    pub(super) instructions: u64,
    /// Number of calls of malloc and its variants.
    pub(super) allocations: u64,
    /// Number of calls of pthread_mutex_lock and its variants.
    pub(super) mutexes: u64,
    /// Compare-and-swaps of at most 32 bits: an upper bound on the locks taken.
    pub(super) locks: u64,
    /// Atomic operations of all kinds, including these.
    pub(super) atomics: u64,
}

/// Atomic instructions of each program or library, once looked up.
#[derive(Default)]
pub(super) struct Disassembly(HashMap<String, Atomics>);

#[derive(Default)]
struct Atomics {
    locks: HashSet<u64>,
    others: HashSet<u64>,
}

const ALLOCATORS: [&str; 6] =
    ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign"];

const LOCKERS: [&str; 5] = [
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "sem_wait",
];

/// Suffix of the functions by which the C library's system calls mark the thread as cancellable.
const NO_LOCK: &str = "asynccancel";

impl Log {
    /// Returns a new log; `name` is unique within this run.
    pub(super) fn new(name: &str) -> Log {
        let file = format!("oxbench-whitebox-{}-{name}", std::process::id());
        Log(std::env::temp_dir().join(file))
    }

    /// Wraps `command` so that it writes a profile.
    pub(super) fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("valgrind");
        wrapped.args(["--tool=callgrind", "--dump-instr=yes", "--fair-sched=yes"]);
        wrapped.args(["--compress-strings=no", "--compress-pos=no", "--quiet"]);
        wrapped.arg(format!("--callgrind-out-file={}", self.0.display()));
        wrapped.arg(command.get_program()).args(command.get_args());
        wrapped
    }

    /// Reads the profile of the ended process.
    pub(super) fn read(self, disassembly: &mut Disassembly) -> Result<Profile> {
        let profile = parse(BufReader::new(fs::File::open(&self.0)?), disassembly);
        fs::remove_file(&self.0)?;
        profile
    }
}

/// Parses a profile; valgrind's manual describes the format: a line `ob=`, `fn=` or `cfn=` gives the subject of the
/// next lines; `0x4a 7 30` means that the instruction at this address ran 30 times; `calls=3 ...` that the last named
/// function was called 3 times, and that the next line has the total cost of these calls.
fn parse(lines: impl BufRead, disassembly: &mut Disassembly) -> Result<Profile> {
    let mut profile = Profile::default();
    let (mut caller, mut called) = (String::new(), String::new());
    let mut object = disassembly.of("")?;
    let mut lines = lines.lines();
    while let Some(line) = lines.next() {
        let line = line?;
        if let Some(name) = line.strip_prefix("ob=") {
            object = disassembly.of(name)?;
        } else if let Some(name) = line.strip_prefix("fn=") {
            caller = plain(name).to_owned();
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = plain(name).to_owned();
        } else if let Some(calls) = line.strip_prefix("calls=") {
            let count: u64 = calls.split(' ').next().unwrap_or_default().parse()?;
            let is = |names: &[&str], name: &str| names.contains(&name);
            if is(&ALLOCATORS, &called) && !is(&ALLOCATORS, &caller) {
                profile.allocations += count;
            }
            if is(&LOCKERS, &called) {
                profile.mutexes += count;
            }
            lines.next();
        } else if let Some(cost) = line.strip_prefix("0x") {
            let mut words = cost.split(' ');
            let address = u64::from_str_radix(words.next().unwrap_or_default(), 16)?;
            let count: u64 = words.nth(1).unwrap_or_default().parse()?;
            profile.instructions += count;
            if object.locks.contains(&address) {
                profile.locks += u64::from(!caller.ends_with(NO_LOCK)) * count;
                profile.atomics += count;
            } else if object.others.contains(&address) {
                profile.atomics += count;
            }
        }
    }
    match profile.instructions {
        0 => Err("callgrind's profile is empty".into()),
        _ => Ok(profile),
    }
}

/// Returns a function's name without its version (`malloc@@GLIBC_2.2.5`) and depth of recursion (`malloc'2`).
fn plain(function: &str) -> &str {
    let end = function.find(['@', '\'']).unwrap_or(function.len());
    &function[..end]
}

impl Disassembly {
    /// Reports whether the disassembler is installed.
    pub(super) fn is_available() -> bool {
        let version = Command::new("objdump").arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    }

    /// Returns the atomic instructions of an object; for code that is in no file, none are known.
    fn of(&mut self, object: &str) -> Result<&Atomics> {
        if !self.0.contains_key(object) {
            let atomics = match Path::new(object).is_file() {
                true => disassemble(object)?,
                false => Atomics::default(),
            };
            self.0.insert(object.to_owned(), atomics);
        }
        Ok(&self.0[object])
    }
}

fn disassemble(object: &str) -> Result<Atomics> {
    let mut child = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn", object])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot start objdump: {error}"))?;
    let output = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let mut atomics = Atomics::default();
    for line in output.split(b'\n') {
        let line = line?;
        match instruction(&String::from_utf8_lossy(&line)) {
            Some((address, Kind::Lock)) => atomics.locks.insert(address),
            Some((address, Kind::Other)) => atomics.others.insert(address),
            None => false,
        };
    }
    child.wait()?;
    Ok(atomics)
}

#[derive(PartialEq, Debug)]
enum Kind {
    /// Instruction that may take a lock.
    Lock,
    Other,
}

/// Parses a line such as `  117d:  lock cmpxchg %ecx,(%rax)`; returns the atomic instruction. An exchange with memory
/// needs no `lock`.
fn instruction(line: &str) -> Option<(u64, Kind)> {
    let (address, text) = line.split_once(':')?;
    let text = text.trim_start();
    let kind = match text.strip_prefix("lock ") {
        Some(locked) if locked.starts_with("cmpxchg") && !is_wide(locked) => Kind::Lock,
        Some(_) => Kind::Other,
        None if text.starts_with("xchg") && text.contains('(') => Kind::Other,
        None => return None,
    };
    let address = u64::from_str_radix(address.trim_start(), 16).ok()?;
    Some((address, kind))
}

/// Reports whether the swap has 64 bits: `cmpxchg %rcx,(%rbx)` and not `%ecx`, `%r8` and not `%r8d`.
fn is_wide(swap: &str) -> bool {
    let register = swap.split(['%', ',']).nth(1).unwrap_or_default();
    register.starts_with('r') && !register.ends_with(['b', 'w', 'd'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_instructions_are_told_apart() {
        for narrow in ["%ecx", "%cl", "%r8d", "%r10b"] {
            let swap = instruction(&format!("    117d:\tlock cmpxchg {narrow},(%rax)"));
            assert_eq!(swap, Some((0x117d, Kind::Lock)), "{narrow}");
        }
        for wide in ["%rcx", "%r8", "%rbp"] {
            let swap = instruction(&format!("    117d:\tlock cmpxchg {wide},(%rax)"));
            assert_eq!(swap, Some((0x117d, Kind::Other)), "{wide}");
        }
        let add = instruction("  20:\tlock addl $0x1,(%rax)");
        assert_eq!(add, Some((0x20, Kind::Other)));
        let exchange = instruction("  24:\txchg   %eax,0x10(%rbx)");
        assert_eq!(exchange, Some((0x24, Kind::Other)));
        // Some assemblers spell `nop` this way.
        assert_eq!(instruction("  28:\txchg   %ax,%ax"), None);
        assert_eq!(instruction("  2a:\tmov    %rax,(%rbx)"), None);
        assert_eq!(instruction("0000000000001149 <main>:"), None);
    }

    #[test]
    fn a_profile_is_added_up() {
        let text = "version: 1\npositions: instr line\nevents: Ir\n\nob=here\nfl=???\nfn=main\n0x10 0 3\n0x14 0 2\n\
                    cob=libc\ncfn=malloc@@GLIBC_2.2.5\ncalls=2 0x99 1\n0x14 0 700\n\
                    cfn=pthread_mutex_lock'2\ncalls=5 0x99 1\n0x18 0 70\n0x1c 0 1\n\
                    fn=realloc\n0x20 0 4\nfn=__pthread_enable_asynccancel\n0x14 0 6\nfn=realloc\ncfn=malloc\ncalls=9 0x99 1\n0x20 0 70\n";
        let here = Atomics { locks: HashSet::from([0x14]), others: HashSet::from([0x1c, 0x18]) };
        let mut disassembly = Disassembly(HashMap::from([("here".to_owned(), here)]));
        let profile = parse(text.as_bytes(), &mut disassembly).unwrap();
        let expected =
            Profile { instructions: 16, allocations: 2, mutexes: 5, locks: 2, atomics: 9 };
        assert_eq!(profile, expected);
        assert!(parse("version: 1\n".as_bytes(), &mut disassembly).is_err());
    }
}
