//! Process for which the kernel appears to lack IPv6: the process and all its children receive EAFNOSUPPORT for IPv6
//! sockets.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

const AF_INET6: u64 = 10;
const EAFNOSUPPORT: u32 = 97;

/// Executes the command in `args` without IPv6.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let (program, args) =
        args.split_first().ok_or("Usage: cargo xtask without-inet6 COMMAND...")?;
    let filter = filter().map_err(|error| format!("a filter of system calls: {error}"))?;
    seccompiler::apply_filter(&filter)
        .map_err(|error| format!("a filter of system calls: {error}"))?;
    Err(format!("{program}: {}", Command::new(program).args(args).exec()))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let is_inet6 = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, AF_INET6)?;
    let rules = BTreeMap::from([(socket(), vec![SeccompRule::new(vec![is_inet6])?])]);
    let refused = SeccompAction::Errno(EAFNOSUPPORT);
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
}

/// Number of the system call `socket`.
const fn socket() -> i64 {
    if cfg!(target_arch = "x86_64") { 41 } else { 198 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_one_that_the_kernel_knows() {
        assert!(!filter().unwrap().is_empty());
    }
}
