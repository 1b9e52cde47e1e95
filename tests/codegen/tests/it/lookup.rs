//! Skeletons find operations by perfect hash, binary search or linear search, or by the client's slot, with equal
//! results.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use oxorb::__gen::{Op, Ref};
use oxorb::{Interface, Orb, SystemException, SystemExceptionKind};

/// Makes a request for an operation by name, with any slot.
fn ask(object: &Ref, op: &'static Op) -> Result<i32, SystemException> {
    object.invoke(op, |_| Ok(()), |d| d.long())
}

fn leaked(name: &'static str, slot: Option<u16>) -> &'static Op {
    let op = Op::twoway(name);
    Box::leak(Box::new(slot.map_or(op, |slot| op.at(slot))))
}

macro_rules! strategy {
    ($name:ident, $folder:literal) => {
        mod $name {
            use super::*;

            include!(concat!(env!("OUT_DIR"), "/", $folder, "/lookup.rs"));

            use lookup::{A, ARef, B, BRef, C, CRef, D, DRef};

            #[derive(Default)]
            struct All {
                v: AtomicI32,
                e: AtomicI32,
            }

            impl A for All {
                fn a0(&self) -> oxorb::Result<i32> {
                    Ok(100)
                }

                fn a1(&self) -> oxorb::Result<i32> {
                    Ok(101)
                }

                fn v(&self) -> oxorb::Result<i32> {
                    Ok(self.v.load(Ordering::SeqCst))
                }

                fn set_v(&self, v: i32) -> oxorb::Result<()> {
                    self.v.store(v, Ordering::SeqCst);
                    Ok(())
                }
            }

            impl B for All {
                fn b0(&self) -> oxorb::Result<i32> {
                    Ok(200)
                }
            }

            impl C for All {
                fn c0(&self) -> oxorb::Result<i32> {
                    Ok(300)
                }

                fn c1(&self, n: i32) -> oxorb::Result<i32> {
                    Ok(n + 301)
                }
            }

            impl D for All {
                fn d0(&self) -> oxorb::Result<i32> {
                    Ok(400)
                }

                fn e(&self) {
                    self.e.fetch_add(1, Ordering::SeqCst);
                }

                fn w(&self) -> oxorb::Result<i32> {
                    Ok(self.e.load(Ordering::SeqCst))
                }
            }

            #[test]
            fn does_what_all_do() {
                let _guard = oxorb_testkit::watchdog(Duration::from_secs(60));
                // The search is that of the compiler, or one that the server's configuration selects.
                for search in ["generated", "perfect", "binary", "linear"] {
                    let arguments = ["server", "-ORBOperationSearch", search];
                    let server = Orb::builder()
                        .listen("iiop://127.0.0.1:0")
                        .args(arguments.map(String::from))
                        .build()
                        .unwrap();
                    let client = Orb::builder().build().unwrap();
                    let local: DRef = server.root_poa().activate(All::default()).unwrap();
                    // The calls go through a socket, and within the process.
                    let remote: DRef =
                        client.string_to_object(&local.to_ior()).unwrap().unchecked_narrow();
                    for d in [remote, local] {
                        calls(&d);
                    }
                    client.shutdown(true).unwrap();
                    server.shutdown(true).unwrap();
                }
            }

            fn calls(d: &DRef) {
                let (a, b, c): (ARef, BRef, CRef) =
                    (d.unchecked_narrow(), d.unchecked_narrow(), d.unchecked_narrow());
                assert_eq!([a.a0(), a.a1(), d.a0(), c.a1()], [Ok(100), Ok(101), Ok(100), Ok(101)]);
                d.set_v(7).unwrap();
                assert_eq!([a.v(), b.v(), d.v()], [Ok(7); 3]);
                assert_eq!([b.b0(), d.b0()], [Ok(200); 2]);
                // The slot differs from the one that the stub assumes.
                assert_eq!([c.c0(), d.c0(), c.c1(1)], [Ok(300), Ok(300), Ok(302)]);
                assert_eq!(d.d0(), Ok(400));
                let before = d.w().unwrap();
                d.e().unwrap();
                while d.w().unwrap() == before {
                    std::thread::yield_now();
                }

                // Whatever slot a client sends, the name decides.
                let object = d.reference();
                for slot in [None, Some(0), Some(5), Some(6), Some(700), Some(u16::MAX)] {
                    assert_eq!(ask(object, leaked("a1", slot)), Ok(101));
                    assert_eq!(ask(object, leaked("d0", slot)), Ok(400));
                    assert_eq!(ask(object, leaked("_get_v", slot)), Ok(7));
                    for absent in ["a2", "A0", "_get_u", "_set_w", "somewhat_longer"] {
                        let raised = ask(object, leaked(absent, slot)).unwrap_err();
                        assert_eq!(raised.kind, SystemExceptionKind::BadOperation, "{absent}");
                    }
                }
            }
        }
    };
}

strategy!(perfect, "perfect");
strategy!(binary, "binary");
strategy!(linear, "linear");
