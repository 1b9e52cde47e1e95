//! Handling of the pages of a connection's memory by this end.

use std::io;

use oxorb_sys::shared::HUGE_PAGE;
use oxorb_transport::Pages;

use crate::shm::ShmLink;

impl ShmLink {
    /// Sets how this end handles the pages of the connection.
    ///
    /// # Errors
    /// The system's refusal, with advice.
    pub(crate) fn set_pages(&self, pages: Pages) -> io::Result<()> {
        match pages {
            Pages::OnDemand => Ok(()),
            Pages::Resident { huge, locked } => {
                let rooms = self.rooms.as_ref();
                let resident = self
                    .segment
                    .make_resident(huge, locked)
                    .and_then(|()| rooms.map_or(Ok(()), |rooms| rooms.make_resident(locked)));
                resident.map_err(|error| refused(&error, huge, locked, self.memory()))
            }
            Pages::GivenBack(after) => {
                let at = self.outgoing.at;
                let reclaim = self.gate.reclaim(&self.segment, &self.blocks, at, after);
                reclaim.map_err(|error| {
                    let text =
                        format!("pages of shared memory cannot be returned to the system: {error}");
                    io::Error::new(error.kind(), text)
                })
            }
        }
    }
}

/// Returns an error with the refused setting and advice.
fn refused(error: &io::Error, huge: bool, locked: bool, octets: usize) -> io::Error {
    let advice = match (huge, locked) {
        (true, _) if octets < HUGE_PAGE => format!(
            "; a huge page has {HUGE_PAGE}: larger rings or blocks (ring=, blocks=) make room for one"
        ),
        (true, _) => "; that requires Linux 6.1, free memory in pieces of 2 MiB, and no `deny` in \
                      /sys/kernel/mm/transparent_hugepage/shmem_enabled; `resident` does not require them"
            .to_owned(),
        (false, true) => "; CAP_IPC_LOCK or a larger `ulimit -l` allows it, smaller rings and \
                          blocks (ring=, blocks=) need less"
            .to_owned(),
        (false, false) => {
            "; that requires Linux 5.14 and enough memory; smaller rings and blocks (ring=, blocks=) need less"
                .to_owned()
        }
    };
    let what = match (huge, locked) {
        (true, true) => "locked in huge pages",
        (true, false) => "put into huge pages",
        (false, true) => "locked in RAM",
        (false, false) => "allocated at once",
    };
    let text = format!("{octets} octets of shared memory cannot be {what}: {error}{advice}");
    io::Error::new(error.kind(), text)
}
