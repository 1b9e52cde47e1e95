//! Annotations `@rt(...)` before an operation in IDL, as text: for the IDL compiler's tables of
//! RT_Infos, and for tools.

use crate::error::Error;
use crate::repository::{Characteristics, Handle};
use crate::service::Service;
use crate::time;

/// Operations with the parameters of their `@rt`, as `oxorb_idlgen::Builder::rt_infos` makes a table of them.
pub type RtInfos = [(&'static str, &'static [(&'static str, &'static str)])];

/// Reads the parameters of one annotation.
///
/// ```
/// use oxorb_sched::annotation::characteristics;
///
/// let said = characteristics([("wcet", "4 ms"), ("period", "20 Hz"), ("threads", "1")])?;
/// assert_eq!((said.worst_case, said.period, said.threads), (4_000_000, 50_000_000, 1));
/// assert_eq!(said.typical, said.worst_case);
/// assert!(characteristics([("speed", "4 ms")]).unwrap_err().contains("it has no speed"));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A parameter that `@rt` does not have, or a value that it cannot take, in a sentence.
pub fn characteristics<'a>(
    params: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Characteristics, String> {
    let mut said = Characteristics::default();
    for (name, text) in params {
        let time = || time::parse(text).map_err(|error| error.to_string());
        match name {
            "wcet" => said.worst_case = time()?,
            "typical" => said.typical = time()?,
            "cached" => said.cached = time()?,
            "quantum" => said.quantum = time()?,
            "bcet" => said.constraints.best_case = time()?,
            "overrun" => said.constraints.overrun = Some(time()?),
            "deadline" => said.constraints.deadline = Some(time()?),
            "jitter" => said.constraints.jitter = time()?,
            "blocking" => said.constraints.blocking = time()?,
            "offset" => said.constraints.offset = Some(time()?),
            "period" => {
                said.period = time::parse_period(text).map_err(|error| error.to_string())?;
                if said.period == 0 {
                    return Err(
                        "a period of 0 is none; leave it out where callers give the rate".into()
                    );
                }
            }
            "criticality" => said.criticality = text.parse().map_err(|error| format!("{error}"))?,
            "importance" => said.importance = text.parse().map_err(|error| format!("{error}"))?,
            "threads" => {
                let number = text.parse();
                said.threads = number.map_err(|_| format!("{name} is a number from 0 on"))?;
            }
            other => return Err(format!("it has no {other}")),
        }
    }
    if said.typical == 0 {
        said.typical = said.worst_case;
    }
    Ok(said)
}

/// Declares the operations of a table to a service, and returns their handles in the order of the table: what an application
/// does in a configuration run, and, with a table that was left out, not in production. At run time what is there is found
/// and nothing is set.
///
/// ```
/// use oxorb_sched::annotation::{RtInfos, declare};
/// use oxorb_sched::service::Service;
/// use oxorb_sched::{DispatchModel, Strategy};
///
/// const RT_INFOS: &RtInfos = &[("nav::Sensor::sample", &[("wcet", "4 ms"), ("period", "20 Hz")])];
/// let mut service = Service::configuration(Box::new(Strategy::RMS), Box::new(DispatchModel::Band));
/// let handles = declare(&mut service, RT_INFOS)?;
/// assert_eq!(service.lookup("nav::Sensor::sample"), Ok(handles[0]));
/// # Ok::<(), oxorb_sched::Error>(())
/// ```
///
/// # Errors
/// What [`Service::create`] and [`Service::set`] refuse; [`Invalid`](Error::Invalid) for a parameter that is none.
pub fn declare(service: &mut Service, infos: &RtInfos) -> Result<Vec<Handle>, Error> {
    let mut handles = Vec::with_capacity(infos.len());
    for (operation, params) in infos {
        let said = characteristics(params.iter().copied());
        let said = said.map_err(|why| Error::Invalid(format!("@rt of {operation}: {why}")))?;
        let handle = match service.create(operation) {
            Err(Error::DuplicateName(_)) => service.lookup(operation)?,
            created => created?,
        };
        service.set(handle, said)?;
        handles.push(handle);
    }
    Ok(handles)
}
