//! Conformance of GIOP to the suite for all messagings.

use oxorb_giop::Wire;
use oxorb_object::Version;

oxorb_conformance::messaging!(giop_1_0, Wire::Giop(Version::V1_0));
oxorb_conformance::messaging!(giop_1_1, Wire::Giop(Version::V1_1));
oxorb_conformance::messaging!(giop_1_2, Wire::Giop(Version::V1_2));
