//! Conformance of this crate's messagings to the suite for all messagings.

use oxorb_giop::Wire;

oxorb_conformance::messaging!(giop_lite_rt, Wire::Other(oxorb_lite::GIOP_LITE_RT));
oxorb_conformance::messaging!(giop_lite, Wire::Other(oxorb_lite::GIOP_LITE));
