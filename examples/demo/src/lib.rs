//! The demonstrations of OxORB: `oxorb demo`, and the program of this package, which is built in half the time.
//!
//! The first is one urgent client among many busy ones, live: without priorities, with a lane of its own, and with that
//! lane at SCHED_FIFO.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod act;
#[cfg(feature = "avionics")]
mod avionics;
mod client;
mod compare;
mod display;
mod events;
mod live;
mod process;
mod sched;
mod server;

use oxorb::Builder;
#[cfg(not(feature = "avionics"))]
use oxorb_terminal::output::because;
use oxorb_terminal::output::{Done, Format, print, print_json};

use act::Act;
use compare::Comparison;
use display::Display;

// The Rust that build.rs made of idl/navigation.idl.
mod navigation {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("navigation");
}
use navigation::navigation as interface;

/// Show an urgent client among many busy ones, without and with priorities, live
///
/// An urgent client calls a server 50 times a second; many others call it without a pause, and each of their calls
/// takes 200 us of the one CPU that the server has. In the first act four threads serve requests as they come. In the
/// second the urgent client has a lane: a port, a thread and a connection of its own. In the third the lane also has a
/// real-time priority (SCHED_FIFO), where this user may have one. All three are compared at the end.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "No privilege is needed. Without the one for SCHED_FIFO (root, CAP_SYS_NICE or `ulimit -r 60`) the third \
    act has the lane of the second but no priority, which is said.\n\n\
    Programs of any other ORB can join in while an act runs: compile navigation.idl (printed by --idl) with its IDL \
    compiler and call the object whose address is shown."
)]
pub struct Args {
    #[command(subcommand)]
    play: Option<Play>,
    /// Seconds that each of the three acts lasts
    #[arg(short, long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Number of clients that call without a pause
    #[arg(short, long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,
    /// Address that the server listens at; port 0 lets the system choose
    #[arg(long, default_value = "iiop://127.0.0.1:0", value_name = "ENDPOINT")]
    listen: String,
    /// Print the IDL of the interface and end
    #[arg(long)]
    idl: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Demonstrations beside the first.
#[derive(clap::Subcommand)]
enum Play {
    /// Overload a server under four scheduling strategies, and count missed deadlines beside the simulated ones
    Sched(sched::Args),
    /// Show an event channel: urgent events overtake, slow consumers lose only their own, filters, a timeout
    Events(events::Args),
    /// Run components of a cockpit in an overloaded ordinary server, then with real-time resources, and count late warnings
    #[cfg(feature = "avionics")]
    Avionics(avionics::Args),
    /// Run components of a cockpit: not in this build, takes --features avionics
    #[cfg(not(feature = "avionics"))]
    Avionics,
}

/// Processes that a demonstration starts, each of them the same program once more.
#[derive(clap::Subcommand)]
#[command(hide = true)]
pub enum Part {
    #[command(name = "demo-server", hide = true)]
    #[doc(hidden)]
    Server(server::Args),
    #[command(name = "demo-client", hide = true, subcommand)]
    #[doc(hidden)]
    Client(client::Client),
    #[cfg(feature = "avionics")]
    #[command(name = "demo-avionics", hide = true)]
    #[doc(hidden)]
    Avionics(avionics::server::Args),
}

impl Part {
    /// Runs until the process that started this one closes its standard input.
    ///
    /// # Errors
    ///
    /// What failed, or [`oxorb_terminal::output::Failed::Told`] where that is printed already.
    pub fn run(self) -> Done {
        match self {
            Part::Server(args) => server::run(args),
            Part::Client(client) => client::run(client),
            #[cfg(feature = "avionics")]
            Part::Avionics(args) => avionics::server::run(args),
        }
    }
}

/// CORBA priority of the urgent client and of its lane, and the priority of SCHED_FIFO that stands for it.
const URGENT: i16 = 60;

/// Plays all acts and compares them.
///
/// # Errors
///
/// What failed, in a sentence for the person who started it.
pub fn run(args: &Args) -> Done {
    match &args.play {
        Some(Play::Sched(args)) => return sched::run(args),
        Some(Play::Events(args)) => return events::run(args),
        #[cfg(feature = "avionics")]
        Some(Play::Avionics(args)) => return avionics::run(args),
        #[cfg(not(feature = "avionics"))]
        Some(Play::Avionics) => {
            return Err(because(
                "this program was built without components: cargo run --release --features avionics -- demo avionics, or the \
                 whole command: cargo install --path crates/cli",
            ));
        }
        None => {}
    }
    if args.idl {
        return print(include_str!("../idl/navigation.idl"));
    }
    let mut display = Display::new(args);
    display.begin()?;
    let plain = act::play(Act::Plain, args, &mut display)?;
    let lane = act::play(Act::Lane, args, &mut display)?;
    let real_time = act::play(Act::RealTime, args, &mut display)?;
    let comparison = Comparison::of(plain, lane, real_time);
    match args.format {
        Format::Text => print(&comparison),
        Format::Json => print_json(&comparison),
    }
}

/// Gives the ORB a lane whose thread stays with its connection from one period to the next and, if so wanted, has
/// priorities reach the scheduler.
fn with_lane(builder: Builder, real_time: bool) -> Builder {
    let builder = builder.setting("WorkerStay", "1000").setting("TrustIdle", "1000");
    match real_time {
        true => builder.setting("SchedPolicy", "SCHED_FIFO").setting("PriorityMapping", "direct"),
        false => builder.setting("SchedPolicy", "SCHED_OTHER"),
    }
}
