//! Pages whose Rust includes code made from IDL, as documentation tests.
//!
//! The build script compiles the IDL of the pages.
#![forbid(unsafe_code)]

/// The README, which shows a complete project.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The page for users of gRPC.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/grpc.md")]
struct GrpcPage;

/// The page for users of JacORB.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/jacorb.md")]
struct JacorbPage;

/// The page for users of omniORB.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/omniorb.md")]
struct OmniorbPage;

/// The page for users of ROS 2.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/ros2.md")]
struct Ros2Page;

/// The page for users of TANGO.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/tango.md")]
struct TangoPage;

/// The page for users of TAO.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/tao.md")]
struct TaoPage;

/// The page for users of zenoh.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from/zenoh.md")]
struct ZenohPage;
