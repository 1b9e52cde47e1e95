//! Common parts of the tests: a servant made of a closure, and a scheduler that records its points.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::interceptor::{IncomingRequest, OutgoingRequest};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemException,
    SystemExceptionKind, Upcall,
};
use oxorb_rtscheduling::{
    BadContext, DsrtQos, Grant, Id, RtScheduling, Scheduler, Segment, SegmentError,
};

pub(crate) static RUN: Op = Op::twoway("run");
pub(crate) static TELL: Op = Op::oneway("tell");

/// Timeout of events that must happen: too long for any machine, however loaded.
pub(crate) const LONG: Duration = Duration::from_secs(60);

type Work = dyn Fn(&str) -> Result<(), SystemException> + Send + Sync;

/// Servant that runs a closure for each operation.
pub(crate) struct Closure(pub(crate) Box<Work>);

impl Servant for Closure {
    fn repository_id(&self) -> &str {
        "IDL:test/Closure:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match (self.0)(upcall.operation()) {
            Ok(()) => upcall.done(),
            Err(exception) => upcall.fail(exception),
        }
    }
}

/// Activates a closure as a servant.
pub(crate) fn serve(
    orb: &Orb,
    work: impl Fn(&str) -> Result<(), SystemException> + Send + Sync + 'static,
) -> ObjectRef {
    let servant = Arc::new(Closure(Box::new(work)));
    ObjectRef::from_ref(orb.root_poa().activate_servant(servant).unwrap())
}

/// Returns the object as another ORB sees it.
pub(crate) fn seen_by(orb: &Orb, object: &ObjectRef) -> ObjectRef {
    orb.string_to_object(&object.to_ior()).unwrap()
}

pub(crate) fn run(object: &ObjectRef) -> Result<(), SystemException> {
    object.reference().invoke(&RUN, |_| Ok(()), |_| Ok(()))
}

pub(crate) fn tell(object: &ObjectRef) -> Result<(), SystemException> {
    object.reference().send(&TELL, |_| Ok(()))
}

pub(crate) fn server<S: Scheduler>(scheduling: &RtScheduling<S>) -> Orb {
    Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .scheduling_interceptor(scheduling.interceptor())
        .build()
        .unwrap()
}

pub(crate) fn client<S: Scheduler>(scheduling: &RtScheduling<S>) -> Orb {
    Orb::builder().scheduling_interceptor(scheduling.interceptor()).build().unwrap()
}

pub(crate) fn cancelled(completed: CompletionStatus) -> SystemException {
    SystemException::new(SystemExceptionKind::ThreadCancelled, 0, completed)
}

/// Scheduler that records its points; its parameters are numbers, which travel as importance.
#[derive(Default)]
pub(crate) struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn note(&self, point: &str, segment: &Segment<'_, i32>) {
        let (name, parameter) = (segment.name, segment.parameter);
        self.0.lock().unwrap().push(format!("{point} {name:?} {parameter}"));
    }
}

impl Scheduler for Notes {
    type Parameter = i32;

    fn scheduling_discipline_name(&self) -> &str {
        "notes"
    }

    fn begin_new_scheduling_segment(
        &self,
        segment: &Segment<'_, i32>,
    ) -> Result<Grant, SegmentError> {
        self.note("begin", segment);
        match *segment.parameter {
            0.. => Ok(None),
            _ => Err(SegmentError::UnsupportedSchedulingDiscipline),
        }
    }

    fn begin_nested_scheduling_segment(
        &self,
        segment: &Segment<'_, i32>,
    ) -> Result<Grant, SegmentError> {
        self.note("begin nested", segment);
        Ok(None)
    }

    fn update_scheduling_segment(&self, segment: &Segment<'_, i32>) -> Result<Grant, SegmentError> {
        self.note("update", segment);
        match *segment.parameter {
            0.. => Ok(None),
            _ => Err(SegmentError::UnsupportedSchedulingDiscipline),
        }
    }

    fn end_scheduling_segment(&self, segment: &Segment<'_, i32>) {
        self.note("end", segment);
    }

    fn end_nested_scheduling_segment(&self, segment: &Segment<'_, i32>, outer: &Segment<'_, i32>) {
        self.note("end nested", segment);
        self.note("back in", outer);
    }

    fn send_request(
        &self,
        segment: &Segment<'_, i32>,
        request: &OutgoingRequest<'_>,
    ) -> Result<(), SystemException> {
        self.note(&format!("send_request {}", request.operation()), segment);
        Ok(())
    }

    fn receive_reply(
        &self,
        segment: &Segment<'_, i32>,
        _: &OutgoingRequest<'_>,
        returned: Option<&i32>,
    ) -> Result<Grant, SystemException> {
        self.note(&format!("receive_reply {returned:?}"), segment);
        Ok(None)
    }

    fn receive_exception(
        &self,
        segment: &Segment<'_, i32>,
        _: &OutgoingRequest<'_>,
    ) -> Result<Grant, SystemException> {
        self.note("receive_exception", segment);
        Ok(None)
    }

    fn receive_request(
        &self,
        segment: &Segment<'_, i32>,
        request: &IncomingRequest<'_>,
    ) -> Result<Grant, SystemException> {
        self.note(&format!("receive_request {}", request.operation()), segment);
        Ok(None)
    }

    fn send_reply(&self, segment: &Segment<'_, i32>, _: &IncomingRequest<'_>) {
        self.note("send_reply", segment);
    }

    fn send_exception(&self, segment: &Segment<'_, i32>, _: &IncomingRequest<'_>) {
        self.note("send_exception", segment);
    }

    fn leave_request(&self, segment: &Segment<'_, i32>) {
        self.note("leave_request", segment);
    }

    fn write_context(&self, id: &Id, parameter: &i32, octets: &mut Vec<u8>) {
        DsrtQos { importance: *parameter, ..DsrtQos::new(*id) }.append_to(octets);
    }

    fn read_context(&self, octets: &[u8]) -> Result<(Id, i32), BadContext> {
        let qos = DsrtQos::parse(octets)?;
        Ok((qos.id, qos.importance))
    }
}
