//! Buffers are sized once: the maximum size of the arguments according to the IDL is reserved before they are written.

use oxorb::__gen::{Encode, Encoder};
use oxorb::{Orb, SystemException};
use oxorb_cdr::{ByteOrder, Dialect};
use oxorb_codegen_tests::sized::store::op;
use oxorb_codegen_tests::sized::{Cell, Grid, Store, StoreRef};
use oxorb_testkit::alloc::allocations;

struct Servant;

impl Store for Servant {
    fn small(&self, x: i32) -> Result<i32, SystemException> {
        Ok(x)
    }

    fn swap(&self, a: &Grid, b: &Grid, _: u8) -> Result<(Grid, Grid), SystemException> {
        Ok((*b, *a))
    }

    fn keep(&self, _: &[Cell]) -> Result<(), SystemException> {
        Ok(())
    }

    fn set(
        &self,
        _: &Grid,
        _: &Grid,
        _: &Grid,
        _: &Grid,
        _: &Grid,
        _: &Grid,
        _: &Grid,
        _: &Grid,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn descriptors_know_the_sizes_of_arguments() {
    // Small arguments fit into any buffer.
    assert_eq!(op::SMALL.request, 0);
    // The size is that of two grids of 500 numbers, with padding before each number, and an octet.
    let grid = Grid::MAX_SIZE.expect("bounded");
    assert!(op::SWAP.request as usize > 2 * grid && op::SWAP.request < 10_000);
    // Unbounded, and small when empty.
    assert_eq!(op::KEEP.request, 0);
}

/// Returns the client thread's allocations in the first call on a new connection.
fn first_call(store: &StoreRef, call: impl FnOnce(&StoreRef)) -> u64 {
    let orb = Orb::builder().build().expect("starts");
    let text = oxorb::Interface::to_ior(store).to_string();
    let store: StoreRef = orb.resolve(&text).expect("the reference is good");
    let ((), made) = allocations(|| call(&store));
    orb.shutdown(true).expect("stops");
    made.count
}

#[test]
fn the_first_large_request_allocates_as_often_as_a_small_one() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().expect("listens");
    let store: StoreRef = server.root_poa().activate(Servant).expect("activates");
    let grid = [1; 500];
    let small = || first_call(&store, |store| assert_eq!(store.small(7), Ok(7)));
    let large = || {
        first_call(&store, |store| {
            store.set(&grid, &grid, &grid, &grid, &grid, &grid, &grid, &grid).expect("answers")
        })
    };
    // The first call creates the objects that exist once in a process: the minimum of several is the cost of a call.
    let least = |call: &dyn Fn() -> u64| (0..8).map(|_| call()).min().expect("several");
    let (small, large) = (least(&small), least(&large));
    // A call whose reply arrives late or in pieces allocates once or twice more. A buffer that grows with each grid
    // that is written takes at least four steps.
    assert!(
        large <= small + 2,
        "{large} allocations for a large first call, {small} for a small one"
    );
    server.shutdown(true).expect("stops");
}

#[test]
fn elements_that_nothing_bounds_are_provided_for_by_the_first() {
    let cells: Vec<Cell> =
        (0..1000).map(|value| Cell { name: format!("cell number {value}"), value }).collect();
    let (octets, made) = allocations(|| {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        cells.encode(&mut e).expect("encodes");
        e.finish().len()
    });
    assert!(octets > 20_000);
    // One allocation is for the first element and one for the others. The buffer would also grow if the first element
    // were much shorter than the others.
    assert!(made.count <= 2, "{} allocations", made.count);
}
