//! `oxorb idl lsp`: language server for editors.
//!
//! A thread reads the messages of the editor; the main thread handles them. It compiles documents after changes once no
//! further message has arrived, or once a request needs the result.

mod diagnostics;
mod documents;
mod formatting;
mod framing;
mod hover;
mod message;
mod position;
mod rename;
mod server;
mod symbols;
mod unit;
mod uri;

use std::io::{self, ErrorKind, StdoutLock};
use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, TryRecvError, sync_channel};
use std::thread;

use oxorb_terminal::output::{Done, Failed, because};

use super::fmt::Style;
use super::source::Reading;
use framing::{Frame, Frames};
use server::Server;

/// Arguments of `oxorb idl lsp`.
#[derive(clap::Args)]
#[command(
    after_help = "The editor starts this command and talks to it over standard input and output with the Language \
        Server Protocol: diagnostics, definitions, descriptions, symbols, renaming, formatting. docs/idl-editor.md \
        shows the settings of editors. Folders of -I are relative to the folder that is open in the editor.\n\n\
        Exit status: 0 if the editor sent `shutdown` before it ended the session, otherwise 1.\n\n\
        Examples:\n  oxorb idl lsp\n  oxorb idl lsp -I idl -I /usr/share/idl/omniORB --lenient keyword_case"
)]
pub(crate) struct Args {
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    style: Style,
    /// Use standard input and output, which is the default, for editors that add this option
    #[arg(long)]
    stdio: bool,
}

pub(super) fn run(args: &Args) -> Done {
    let Args { reading, style, stdio: _stdio } = args;
    // The thread has one more message in its hands than the channel holds.
    let (sender, frames) = sync_channel(1);
    thread::Builder::new().name("lsp-input".to_owned()).spawn(move || read(&sender))?;
    let mut server = Server::new(reading.options(), style.options());
    let mut output = io::stdout().lock();
    loop {
        let frame = match frames.try_recv() {
            Ok(frame) => Some(frame),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                server.refresh();
                send(&mut output, &mut server)?;
                frames.recv().ok()
            }
        };
        let Some(frame) = frame else {
            return end(server.is_shut_down(), "the input ended without `shutdown`");
        };
        let flow = server.receive(frame);
        send(&mut output, &mut server)?;
        if let ControlFlow::Break(is_shut_down) = flow {
            return end(is_shut_down, "`exit` arrived without `shutdown`");
        }
    }
}

/// Passes on all frames of standard input, up to its end.
fn read(sender: &SyncSender<Frame>) {
    for frame in Frames::new(io::stdin().lock()) {
        if sender.send(frame).is_err() {
            return;
        }
    }
}

fn send(output: &mut StdoutLock<'_>, server: &mut Server) -> Done {
    for message in server.take_messages() {
        match framing::write(output, &message) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(Failed::Told),
            other => other?,
        }
    }
    Ok(())
}

fn end(is_shut_down: bool, otherwise: &str) -> Done {
    match is_shut_down {
        true => Ok(()),
        false => Err(because(otherwise)),
    }
}
