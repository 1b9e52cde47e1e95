//! Entry point of the fuzz target: any text is either refused with a position in it, or yields
//! threads that can be analysed.

use crate::import::aadl::read;

/// Parses the data as an AADL model. A zero octet separates two texts of the model.
pub fn aadl(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let texts: Vec<&str> = text.splitn(2, '\0').collect();
    match read(&texts) {
        Ok(model) => {
            assert!(!model.threads.is_empty());
            for thread in &model.threads {
                assert!(thread.period > 0 && thread.best_case <= thread.worst_case);
                assert!(thread.processor.is_none_or(|at| at < model.processors.len()));
            }
        }
        Err(refused) => {
            let lines = texts[refused.place.text].split('\n').count();
            assert!(refused.place.line <= lines && !refused.why.is_empty(), "{refused}");
        }
    }
}
