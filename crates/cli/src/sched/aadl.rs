//! Operations from AADL models: `oxorb_sched::import::aadl` documents the supported subset.

use std::path::PathBuf;

use oxorb_sched::import::aadl::{Processor, SchedulingProtocol, TextPosition, read as read_model};
use oxorb_sched::repository::{Characteristics, Constraints};
use oxorb_sched::{DispatchModel, Strategy};

use super::load::Loaded;
use super::set::Asked;
use super::system::Node;
use oxorb_terminal::output::{Failed, because};

/// Reads files that form one model. A model with one processor becomes a task set; several processors become nodes.
pub(super) fn read(files: &[&PathBuf], loaded: &mut Loaded) -> Result<(), Failed> {
    let mut texts = Vec::new();
    for file in files {
        texts.push(crate::input::file(file, "an AADL model").map_err(because)?);
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let place = |place: TextPosition| {
        let file = files.get(place.text).map(|file| file.display().to_string());
        format!("{}:{}:{}", file.unwrap_or_default(), place.line, place.column)
    };
    let model = read_model(&texts)
        .map_err(|error| because(format!("{}: {}", place(error.place), error.why)))?;
    let several = model.processors.len() > 1;
    for thread in &model.threads {
        let said = Characteristics {
            worst_case: thread.worst_case,
            typical: thread.worst_case,
            period: thread.period,
            threads: 1,
            constraints: Constraints {
                deadline: thread.deadline,
                jitter: thread.jitter,
                offset: thread.offset,
                best_case: thread.best_case,
                ..Constraints::default()
            },
            ..Characteristics::default()
        };
        loaded.add(&thread.path, place(thread.place), said)?;
        if let (true, Some(at)) = (several, thread.processor) {
            let processor = &model.processors[at];
            let node = (processor.path.clone(), place(thread.place));
            loaded.system.on.push((thread.path.clone(), node));
        }
    }
    match model.processors.as_slice() {
        [] => loaded.asked.model = loaded.asked.model.or(Some(DispatchModel::Urgency)),
        [one] => {
            let asked = asked(one);
            loaded.asked.strategy = loaded.asked.strategy.or(asked.strategy);
            loaded.asked.model = loaded.asked.model.or(asked.model);
            loaded.asked.switch = loaded.asked.switch.or(asked.switch);
        }
        several => {
            for processor in several {
                loaded.system.nodes.push(Node {
                    name: (processor.path.clone(), place(processor.place)),
                    asked: asked(processor),
                    link: None,
                });
            }
        }
    }
    Ok(())
}

/// Returns the scheduling that a processor declares, with full preemption as in AADL.
fn asked(processor: &Processor) -> Asked {
    Asked {
        strategy: processor.protocol.map(|protocol| match protocol {
            SchedulingProtocol::RateMonotonic => Strategy::RMS,
            SchedulingProtocol::DeadlineMonotonic => Strategy::DM,
            SchedulingProtocol::Deadline => Strategy::EDF,
        }),
        model: Some(DispatchModel::Urgency),
        switch: processor.switch,
        ..Asked::default()
    }
}
