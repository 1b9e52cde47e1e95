//! RT-CORBA: priorities, threadpools with lanes, mutexes, and the scheduling of threads.

#[doc(inline)]
pub use oxorb_core::{
    ArenaFull, Arriving, CallbackThreads, CarriedQos, ClassPacing, CurrentLane, DropError,
    DropRule, DropRules, LaneEndpoints, LaneMemory, LaneNumber, LaneScheduling, MappingChoice,
    MessageBuffers, MutexNotFound, OrbThread, PoolThread, QueueOrder, Raised, RateGroup, RealTime,
    RequestBuffering, Reservation, ReservationError, RtMutex, RtMutexGuard, Schedule,
    SchedulingClass, Serving, Steering, ThreadAttributes, ThreadFilter, ThreadFilters,
    ThreadPurpose, ThreadRegistry, ThreadScheduling, Threadpool, ThreadpoolError, ThreadpoolId,
    ThreadpoolLane, ThreadpoolLanes, carried_qos, current_deadline, current_qos, probe,
};
#[doc(inline)]
pub use oxorb_object::{
    Few, PriorityBand, PriorityBands, PriorityModel, PriorityModelPolicy, TooMany,
};
#[doc(inline)]
pub use oxorb_rt::{
    Distribution, Histogram, NativePriority, NativeRange, OutOfRange, Priority, PriorityMapping,
    PriorityTransform,
};
