//! `oxorb deploy`: component plans, proved correct before anything runs, and then launched.

mod assemble;
mod assembly;
mod changes;
mod check;
mod components;
mod convert;
mod emit;
mod execution;
mod files;
mod host;
mod launch;
mod package;
mod repository;
mod status;

use oxorb_terminal::output::Done;

/// Verbs of `oxorb deploy`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Prove that a plan can be deployed, or report each error with its location
    #[command(
        after_help = "The command always checks that every instance is on a node and has an artifact and an entry \
        point, that connected ports match, and that references have targets. It reports everything that `oxorb deploy \
        launch` would reject, except what only the nodes can detect, such as missing files.\n\n\
        With these options, the command also checks that:\n  \
        --idl        ports and attributes exist, and the types of both ends agree\n  --domain     nodes exist\n  \
        --artifacts  the files that the plan names exist, and a node manager would start them\n  \
        --rt         policies are compatible, ports are called at the rates that they require, and\n               \
        every critical deadline is met\n\nWith --idl, extended ports become the ports of their port type. The command \
        fails if there is an error; warnings do not fail the check. docs/deployment.md describes the files.\n\n\
        Examples:\n  oxorb deploy check plan.toml --idl avionics.idl\n  \
        oxorb deploy check plan.cdp --rt plan.csr --domain domain.cdd --format json\n  \
        oxorb deploy check plan.toml --rt rt.toml --assign assigned.toml    (chooses the priorities)"
    )]
    Check(check::Args),
    /// Convert a deployment document from the OMG's XML to TOML, or back
    #[command(
        after_help = "Plans (.cdp), domains (.cdd), packages (.cpd, .ccd, .cid, .iad, .pcd, .tpd) and real-time \
        resources (.csr) lose only comments and layout in either direction. Elements that the schema lacks are \
        rejected, with their position. With --idl, connections of extended ports (ExtendedPort, MirrorPort) become \
        connections of the ports of their port type.\n\nExamples:\n  oxorb deploy convert plan.cdp plan.toml\n  \
        oxorb deploy convert plan.toml whole.toml --idl avionics.idl\n  \
        oxorb deploy convert --from toml --to xml - - < plan.toml"
    )]
    Convert(convert::Args),
    /// Pack descriptors and artifacts of a folder into an archive (.cpk)
    #[command(
        after_help = "Descriptors (.ccd, .cid, .iad, .cpd, .toml and the others) are read first, and the files that \
        they name must exist. The archive is a ZIP file.\n\nExample:\n  oxorb deploy pack gps gps.cpk"
    )]
    Pack(package::PackArgs),
    /// Unpack an archive (.cpk) into a new folder
    #[command(
        after_help = "Nothing is written unless the whole archive is acceptable: no paths outside the folder, no \
        links, at most 4,096 files and 256 MiB.\n\nExample:\n  oxorb deploy unpack gps.cpk gps"
    )]
    Unpack(package::UnpackArgs),
    /// Make a plan from a package and the assemblies in it
    #[command(
        after_help = "Parts of assemblies become instances on the nodes that --node and --place name. Files of the \
        package become artifacts: unpack the package in the folder that --artifacts of the nodes names. Values of \
        attributes, such as rates, come from the package unless the assembly overrides them; --set overrides both. \
        Ports come from the IDL (--idl, or the .idl files of the package), otherwise from the .ccd. With --packages, \
        the package is taken from the folder of a repository. With --repository, it is read from the execution manager \
        that --at names, and the nodes fetch its files from that manager. Nothing else is downloaded.\n\n\
        Examples:\n  oxorb deploy assemble cockpit.cpk plan.toml --node cockpit\n  \
        oxorb deploy assemble cockpit plan.toml --packages packages --node cockpit\n  \
        oxorb deploy assemble cockpit plan.toml --repository --node cockpit \\\n    \
        --at corbaloc::10.0.0.7:2810/ExecutionManager\n  \
        oxorb deploy assemble cockpit.cpk plan.toml --node cockpit \\\n    \
        --set radar/timer.hertz=5 --set radar/screen.title='port side'\n  \
        oxorb deploy assemble cockpit.cpk plan.toml --node nose --place radar=tail \\\n    \
        --package radar/radar.cpd"
    )]
    Assemble(assemble::Args),
    /// Write the program of one process of a plan in Rust; it needs neither XML nor shared libraries at run time
    #[command(
        after_help = "Components, attributes, connections and real-time resources (--rt) become plain code that uses \
        oxorb::components. A function of the crate that has the name of the artifact creates each executor. The \
        function has the name of the entry point (component factory) in Rust's spelling: create_Gps becomes \
        create_gps(). docs/deployment.md describes how a plan names other crates and functions.\n\nExample:\n  \
        oxorb deploy static plan.toml --idl avionics.idl --rt rt.toml --out cockpit && \\\n    \
        cargo run --manifest-path cockpit/Cargo.toml"
    )]
    Static(assembly::Args),
    /// Run a process whose components are in a shared library
    #[command(
        after_help = "The library is checked before any of its functions is called: version of OxORB, compiler, \
        target, profile, and the interfaces that the plan was made for (--interfaces). Arguments after -- are passed \
        to the process, as to an executable artifact.\n\nExamples:\n  oxorb deploy host --show libdisplay.so\n  \
        oxorb deploy host libdisplay.so -- --plan plan.toml --node cockpit --process main"
    )]
    Host(host::Args),
    /// Serve an execution manager, which launches plans through node managers
    #[command(
        after_help = "The manager listens on a socket that only this user can reach, where the other commands find it. \
        With --host or --port it listens over TCP, too, at corbaloc::HOST:2810/ExecutionManager, like DAnCE's manager; \
        the other commands take this URL as --at. Every client that can call the manager can launch plans on its \
        nodes; -ORBAccess restricts the clients. When the manager ends, it stops its plans; if it is killed, the node \
        managers end them within --lease. With --packages, it stores packages: `oxorb deploy repository` installs \
        archives from the folder --install-from and from the servers of --install-url.\n\nExamples:\n  \
        oxorb deploy serve --naming --packages packages --install-from archives\n  \
        oxorb deploy serve --node cockpit=corbaloc::10.0.0.7:2811/cockpit.NodeManager \\\n    \
        --node radar=file:///tmp/radar.ior\n  \
        oxorb deploy serve --host 10.0.0.7 --naming -ORBAccess 'allow 10.0.0.0/8'\n  \
        oxorb deploy serve --naming -ORBInitRef NameService=corbaloc::host:2809/NameService"
    )]
    Serve(execution::Args),
    /// Launch a plan: start its processes, connect and start its instances
    #[command(
        after_help = "With --local, this process manages the execution and all nodes of the plan. With --node or \
        --naming, it manages the execution, and node managers manage the nodes. In both cases it runs until its last \
        plan is stopped, or until Ctrl-C or SIGTERM, and then stops its plans. Otherwise an execution manager launches \
        the plan, and this command returns. A launch that fails leaves nothing running. With --local --format json, \
        standard output contains only lines of JSON; the standard output of the plan's processes is redirected to \
        standard error.\n\nExamples:\n  oxorb deploy launch plan.toml --rt rt.toml --local\n  \
        oxorb deploy launch plan.cdp --node cockpit=corbaloc::10.0.0.7:2811/cockpit.NodeManager\n  \
        oxorb deploy launch plan.toml --restart on-failure:3:1000 \\\n    \
        --at corbaloc::host:2810/ExecutionManager"
    )]
    Launch(Box<launch::LaunchArgs>),
    /// Show which processes and instances run on which node
    #[command(
        after_help = "Examples:\n  oxorb deploy status\n  oxorb deploy status 'position display' --format json"
    )]
    Status(status::Args),
    /// Replace the running plan of the same name; parts that are the same in both plans keep running
    #[command(
        after_help = "New instances are installed, and instances that the new plan does not have are removed. Changed \
        instances are removed and installed again, and lose their state; their connections are closed and opened \
        again. Other instances keep running. The output marks an addition with +, a removal with -, and a replacement \
        with ~. If a step fails, the previous plan is restored. --dry-run only prints the changes.\n\n\
        Examples:\n  oxorb deploy redeploy plan.toml --rt rt.toml --dry-run\n  \
        oxorb deploy redeploy plan.toml --rt rt.toml --format json"
    )]
    Redeploy(launch::RedeployArgs),
    /// Stop a plan on all its nodes
    #[command(
        after_help = "Examples:\n  oxorb deploy stop 'position display'\n  oxorb deploy stop --all"
    )]
    Stop(status::StopArgs),
    /// Install, list, show and delete packages in the repository of an execution manager
    #[command(subcommand)]
    Repository(repository::Command),
    /// Write a plan for another engine: systemd or Kubernetes
    #[command(subcommand)]
    Emit(emit::Command),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check(args) => check::run(args),
        Command::Convert(args) => convert::run(&args),
        Command::Pack(args) => package::pack(&args),
        Command::Unpack(args) => package::unpack(&args),
        Command::Assemble(args) => assemble::run(&args),
        Command::Static(args) => assembly::run(args),
        Command::Host(args) => host::run(&args),
        Command::Serve(args) => execution::run(&args),
        Command::Launch(args) => launch::launch(*args),
        Command::Status(args) => status::run(&args),
        Command::Redeploy(args) => launch::redeploy(args),
        Command::Stop(args) => status::stop(&args),
        Command::Repository(command) => repository::run(command),
        Command::Emit(command) => emit::run(command),
    }
}
