//! RT-CORBA: priorities, threadpools with lanes, mutexes, and the scheduling of threads.

#[doc(inline)]
pub use oxorb_core::{
    ArenaFull, ArrivingRequest, CallbackThreads, CarriedQos, ClassPacing, CurrentLane, DropError,
    DropRule, DropRules, LaneEndpoints, LaneMemory, LaneNumber, LaneScheduling, MappingChoice,
    MessageBuffers, MutexNotFound, OrbThread, PoolThread, QueueOrder, RaisedPriority, RateGroup,
    RealTime, RequestBuffering, Reservation, ReservationError, RtMutex, RtMutexGuard,
    SchedulingClass, Serving, Steering, ThreadAttributes, ThreadFilter, ThreadFilters,
    ThreadPriority, ThreadPurpose, ThreadRegistry, ThreadScheduling, Threadpool, ThreadpoolError,
    ThreadpoolId, ThreadpoolLane, ThreadpoolLanes, carried_qos, current_deadline, current_qos,
    probe,
};
#[doc(inline)]
pub use oxorb_object::{
    InlineList, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, TooMany,
};
#[doc(inline)]
pub use oxorb_rt::{
    Distribution, Histogram, Mapping, NativePriority, NativeRange, OutOfRange, Priority,
    PriorityMapping, PriorityTransform,
};
