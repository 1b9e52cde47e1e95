//! The messagings of this crate, checked as any other.

use oxorb_giop::Wire;

oxorb_conformance::messaging!(giop_lite_rt, Wire::Other(oxorb_lite::GIOP_LITE_RT));
oxorb_conformance::messaging!(giop_lite, Wire::Other(oxorb_lite::GIOP_LITE));
