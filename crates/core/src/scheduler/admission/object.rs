//! Admission as an object for other processes: `idl/oxorb/admission.idl`.

use std::time::Duration;

use oxorb_cdr::{Decode as _, Decoder, Encode as _, Encoder, Printable, Result as CdrResult};
use oxorb_sched::admission::{Answer, LateComers, Member, MemberGrant};

use super::AdmissionRequest;
use crate::{BudgetUse, Outcome, Servant, Upcall};

/// Servant that offers [`Orb::admit_schedule`](crate::Orb::admit_schedule), [`Orb::release`](crate::Orb::release) and
/// [`Orb::admitted`](crate::Orb::admitted) of its ORB to `oxorb sched`. The facade activates one if the ORB has an
/// admission plan.
#[derive(Debug, Clone, Copy, Default)]
pub struct Admission;

impl Admission {
    /// Name of the object in `corbaloc::host:port/OxorbAdmission`.
    pub const NAME: &'static str = "OxorbAdmission";
}

/// Smallest size of an encoded request, which consists of a string, three durations, a priority and a flag.
const LEAST: usize = 4 + 3 * 8 + 2 + 1;

/// Maximum number of requests in one call.
const MOST: usize = 4096;

/// Longest name of an owner in a request, in octets. Answers repeat names, and the ORB keeps those of admitted owners.
const LONGEST_NAME: usize = 512;

/// Request of a peer, or the description of an error in it.
type Read = Result<AdmissionRequest, String>;

impl Servant for Admission {
    fn repository_id(&self) -> &str {
        "IDL:OxORB/Admission:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let orb = upcall.orb();
        match upcall.operation() {
            "admit" => {
                let wanted = match upcall.args(requests) {
                    Ok(wanted) => wanted,
                    Err(rejected) => return upcall.reject(rejected),
                };
                let all = wanted.len();
                let answers = match wanted.into_iter().collect::<Result<Vec<_>, _>>() {
                    Ok(_) if all > MOST => {
                        Err(format!("{all} requests are more than the limit of {MOST}"))
                    }
                    Ok(wanted) => orb.admit_schedule(wanted).map_err(|error| error.to_string()),
                    Err(wrong) => Err(wrong),
                };
                let said = match answers {
                    Ok(answers) => answers.iter().map(Said::of).collect(),
                    Err(because) => vec![Said::unacceptable(&because); all],
                };
                upcall.reply(|e| sequence(e, &said, |e, said| said.encode(e)))
            }
            "release" => match upcall.args(String::decode) {
                Ok(whose) => {
                    let released = whose.parse().is_ok_and(|of| orb.release(&of));
                    upcall.reply(|e| {
                        e.boolean(released);
                        Ok(())
                    })
                }
                Err(rejected) => upcall.reject(rejected),
            },
            "load" => {
                if let Err(rejected) = upcall.args(|_| Ok(())) {
                    return upcall.reject(rejected);
                }
                let (members, guaranteed) = orb.admitted();
                let plan = orb.admission_plan();
                let shares = plan.is_some_and(|plan| plan.late_comers == LateComers::Share);
                let uses: Vec<(String, String, BudgetUse)> = orb
                    .budgets()
                    .into_iter()
                    .map(|used| (used.of.to_string(), used.budget.to_string(), used))
                    .collect();
                upcall.reply(|e| {
                    e.boolean(shares);
                    e.ulonglong(guaranteed.0);
                    sequence(e, &members, member)?;
                    sequence(e, &uses, spent)
                })
            }
            _ => upcall.unknown_operation(),
        }
    }
}

fn requests(d: &mut Decoder<'_>) -> CdrResult<Vec<Read>> {
    let length = d.length(None, LEAST)?;
    (0..length).map(|_| request(d)).collect()
}

fn request(d: &mut Decoder<'_>) -> CdrResult<Read> {
    let whose = String::decode(d)?;
    let mut time = || Ok(Duration::from_nanos(d.ulonglong()?));
    let (worst_case, period, deadline) = (time()?, time()?, time()?);
    let (priority, shares) = (d.short()?, d.boolean()?);
    if whose.len() > LONGEST_NAME {
        let wrong = format!(
            "`{:.32}` has {} octets, more than the limit of {LONGEST_NAME}",
            Printable(&whose),
            whose.len()
        );
        return Ok(Err(wrong));
    }
    let of = match whose.parse() {
        Ok(of) => of,
        Err(wrong) => return Ok(Err(crate::BudgetError::to_string(&wrong))),
    };
    if priority < 0 {
        return Ok(Err(format!("the priority {priority} is not from 0 to 32767")));
    }
    let wanted = match shares {
        true => AdmissionRequest::share(of),
        false => AdmissionRequest::new(of, worst_case, period).priority(priority),
    };
    Ok(Ok(match deadline.is_zero() {
        true => wanted,
        false => wanted.deadline(deadline),
    }))
}

/// Answer in its encoded form.
#[derive(Debug, Clone, Default)]
struct Said {
    verdict: u32,
    response: u64,
    share: (u64, u64),
    late: String,
    short: u64,
    because: String,
}

impl Said {
    fn of(answer: &Answer) -> Said {
        let late = match answer {
            Answer::Guaranteed { .. } => None,
            Answer::BestEffort { late, .. } => late.as_ref(),
            Answer::Refused(late) => Some(late),
        };
        let said = Said {
            late: late.map(|late| late.who.clone()).unwrap_or_default(),
            short: late.and_then(|late| late.short).unwrap_or(0),
            because: late.map(|late| late.because.clone()).unwrap_or_default(),
            ..Said::default()
        };
        match answer {
            Answer::Guaranteed { response } => Said { response: *response, ..said },
            Answer::BestEffort { share, .. } => {
                Said { verdict: 1, share: (share.time, share.period), ..said }
            }
            Answer::Refused(_) => Said { verdict: 2, ..said },
        }
    }

    fn unacceptable(because: &str) -> Said {
        Said { verdict: 3, because: because.to_owned(), ..Said::default() }
    }

    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> CdrResult<()> {
        e.ulong(self.verdict);
        for number in [self.response, self.share.0, self.share.1] {
            e.ulonglong(number);
        }
        self.late.as_str().encode(e)?;
        e.ulonglong(self.short);
        self.because.as_str().encode(e)
    }
}

fn sequence<'a, T>(
    e: &mut Encoder<'a>,
    items: &'a [T],
    one: fn(&mut Encoder<'a>, &'a T) -> CdrResult<()>,
) -> CdrResult<()> {
    e.length(items.len(), None)?;
    items.iter().try_for_each(|item| one(e, item))
}

fn member<'a>(e: &mut Encoder<'a>, member: &'a Member) -> CdrResult<()> {
    let wanted = &member.wanted;
    wanted.name.as_str().encode(e)?;
    for number in [wanted.worst_case, wanted.period, wanted.deadline] {
        e.ulonglong(number);
    }
    e.short(wanted.priority);
    e.boolean(wanted.shares);
    let (verdict, response, share) = match member.has {
        MemberGrant::Guarantee { response } => (0, response, (0, 0)),
        MemberGrant::Share(share) => (1, 0, (share.time, share.period)),
    };
    e.ulong(verdict);
    for number in [response, share.0, share.1] {
        e.ulonglong(number);
    }
    "".encode(e)?;
    e.ulonglong(0);
    "".encode(e)
}

fn spent<'a>(
    e: &mut Encoder<'a>,
    (whose, budget, used): &'a (String, String, BudgetUse),
) -> CdrResult<()> {
    whose.as_str().encode(e)?;
    budget.as_str().encode(e)?;
    let time = u64::try_from(used.processor_time.as_nanos()).unwrap_or(u64::MAX);
    for number in [used.served, used.refused, used.demoted, used.overruns, time] {
        e.ulonglong(number);
    }
    e.boolean(used.spent);
    Ok(())
}
