//! `@borrowed` parameters: servants get views whose parts are in the message and in their thread's arena.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanes::{
    Board, BoardRef, Choice, Detail, DetailView, Flat, Kind, Note, NoteView, Place, Tree, TreeView,
};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{
    ArenaFull, Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane,
};
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface as _, Orb, Result, SystemExceptionKind};
use oxorb_cdr::ByteOrder;
use oxorb_codegen_tests::lanes;
use oxorb_testkit::alloc;
use oxorb_testkit::watchdog;

const LIMIT: Duration = Duration::from_secs(120);

/// Servant that keeps, or only inspects, the posted values.
struct Wall {
    keeps: bool,
    notes: Mutex<Vec<Note>>,
    trees: Mutex<Vec<Tree>>,
    said: Mutex<Vec<String>>,
    /// Allocations of the serving thread so far, at each visit.
    looks: Mutex<Vec<u64>>,
}

impl Wall {
    fn new(keeps: bool) -> Arc<Wall> {
        Arc::new(Wall {
            keeps,
            notes: Mutex::default(),
            trees: Mutex::default(),
            said: Mutex::default(),
            looks: Mutex::new(Vec::with_capacity(10_000)),
        })
    }

    fn look(&self) {
        self.looks.lock().unwrap().push(alloc::local().count);
    }
}

impl Board for Wall {
    fn post(&self, all: &[NoteView<'_>]) -> Result<()> {
        self.look();
        if self.keeps {
            let owned = all.iter().cloned().map(Note::from);
            self.notes.lock().unwrap().extend(owned);
        }
        Ok(())
    }

    fn one(&self, before: &str, value: &NoteView<'_>, count: &mut i32) -> Result<String> {
        *count += i32::try_from(value.tags.len()).unwrap();
        Ok(format!("{before}{}", value.text))
    }

    fn plant(&self, root: &TreeView<'_>) -> Result<()> {
        self.look();
        if self.keeps {
            self.trees.lock().unwrap().push(Tree::from(*root));
        }
        Ok(())
    }

    fn total(&self, values: &[f64]) -> Result<f64> {
        self.look();
        Ok(values.iter().sum())
    }

    fn wide(&self, text: &str) -> Result<()> {
        self.look();
        if self.keeps {
            self.said.lock().unwrap().push(text.to_owned());
        }
        Ok(())
    }

    fn pair(&self, more: &DetailView<'_>, level: &Flat, text: &str, number: i32) -> Result<()> {
        let what = match more {
            DetailView::Text(text) => (*text).to_owned(),
            DetailView::Codes(label, codes) => format!("{:?} {codes:?}", label.get()),
        };
        let line = format!("{what} {:?} {text} {number}", level.cells);
        self.said.lock().unwrap().push(line);
        Ok(())
    }

    fn echo<'a>(&'a self, all: &'a [&'a str], raw: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        Ok(match all.first() {
            Some(first) => first.as_bytes().into(),
            None => raw.into(),
        })
    }
}

fn note(number: i64) -> Note {
    Note {
        number,
        text: format!("note {number} \u{e9}"),
        wide: "H\u{f6}he \u{20ac}".into(),
        tags: vec!["a".into(), String::new(), "ccc".into()],
        places: vec![Place { x: 1.5, y: -2.0 }; 3],
        values: vec![0.25, f64::MAX, -0.0],
        raw: vec![1, 2, 3, 4, 5],
        flags: vec![true, false, true],
        about: match number % 2 {
            0 => Detail::Text("plain".into()),
            _ => Detail::codes(vec![7, -8, 9]),
        },
        either: match number % 3 {
            0 => Choice::other(),
            1 => Choice::Where(Place { x: 0.0, y: 9.0 }),
            _ => Choice::Names(vec!["x".into(), "y".into()]),
        },
        one: Flat { cells: [[1, 2, 3], [4, 5, 6]], last: 9 },
        flats: vec![Flat { cells: [[0; 3]; 2], last: 1 }; 2],
        more: (number % 2 == 0).then(|| "more".into()),
        roots: Some(tree(3)),
        code: "LOWI".into(),
        how: Kind::Urgent,
        pair: ["left".into(), "right".into()],
        letter: 'z',
        price: lanes_price(),
    }
}

fn lanes_price() -> oxorb::values::FixedPoint<6, 2> {
    oxorb::values::FixedPoint::new("12.50".parse().unwrap()).unwrap()
}

fn tree(depth: usize) -> Tree {
    Tree {
        name: format!("node {depth}"),
        children: match depth {
            0 => vec![],
            _ => vec![tree(depth - 1), tree(depth - 1)],
        },
    }
}

fn orb(configure: impl FnOnce(&mut oxorb::settings::Options)) -> Orb {
    Orb::builder().listen("iiop://127.0.0.1:0").configure(configure).build().unwrap()
}

fn elsewhere(client: &Orb, board: &BoardRef) -> BoardRef {
    client.string_to_object(&board.to_ior()).unwrap().unchecked_narrow()
}

#[test]
fn views_hold_what_was_sent_in_either_order_from_here_and_elsewhere() {
    let _watch = watchdog(LIMIT);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let server = orb(|_| {});
        let client = orb(|options| options.byte_order = order);
        let wall = Wall::new(true);
        let near: BoardRef = server.root_poa().activate(Arc::clone(&wall)).unwrap();
        let far = elsewhere(&client, &near);
        let sent: Vec<_> = (0..7).map(note).collect();
        for board in [&near, &far] {
            board.post(&sent).unwrap();
            assert_eq!(std::mem::take(&mut *wall.notes.lock().unwrap()), sent);
            let mut count = 5;
            let said = board.one("<", &sent[3], &mut count).unwrap();
            assert_eq!((said.as_str(), count), ("<note 3 \u{e9}", 8));
            board.plant(&tree(4)).unwrap();
            assert_eq!(wall.trees.lock().unwrap().pop(), Some(tree(4)));
            assert_eq!(board.total(&[0.5, 1.5]), Ok(2.0));
            assert_eq!(board.total(&[]), Ok(0.0));
            board.wide("H\u{f6}he").unwrap();
            board.pair(&sent[1].about, &sent[1].one, "text", -4).unwrap();
            let said = std::mem::take(&mut *wall.said.lock().unwrap());
            let line = "Urgent [7, -8, 9] [[1, 2, 3], [4, 5, 6]] text -4";
            assert_eq!(said, ["H\u{f6}he", line]);
            assert_eq!(board.echo(&["abc".into()], &[1]).unwrap(), *b"abc");
            assert_eq!(board.echo(&[], &[1, 2]).unwrap(), [1, 2]);
        }
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_warm_lane_allocates_nothing_for_strings_and_sequences_of_structs() {
    let _watch = watchdog(LIMIT);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        // With this setting, the connection counts as busy even on a loaded machine.
        let server = orb(|options| options.worker_stay = Duration::from_secs(20));
        let client = orb(|options| {
            options.byte_order = order;
            options.client_connections = ClientConnections::Private;
        });
        let pool = Threadpool::with_lanes([ThreadpoolLane::new(Priority::MIN, 1)]);
        let pool = server.create_threadpool(pool.value_arena(256 << 10));
        let poa = server
            .root_poa()
            .new_poa("lane")
            .policies(Policies {
                realtime: RtPolicies {
                    threadpool: Some(pool.unwrap()),
                    priority_model: Some(PriorityModelPolicy {
                        model: PriorityModel::ServerDeclared,
                        server_priority: 0,
                    }),
                    ..RtPolicies::default()
                },
                ..Policies::default()
            })
            .create()
            .unwrap();
        poa.manager().activate().unwrap();
        let wall = Wall::new(false);
        let board: BoardRef = poa.activate(Arc::clone(&wall)).unwrap();
        let board = elsewhere(&client, &board);
        let sent: Vec<_> = (0..20).map(note).collect();
        let (root, values) = (tree(5), vec![0.5; 500]);
        let turn = || {
            board.post(&sent).unwrap();
            board.plant(&root).unwrap();
            assert_eq!(board.total(&values), Ok(250.0));
            board.wide("H\u{f6}he \u{20ac}").unwrap();
        };
        (0..50).for_each(|_| turn());
        wall.looks.lock().unwrap().clear();
        (0..50).for_each(|_| turn());
        let looks = wall.looks.lock().unwrap();
        assert_eq!(looks.len(), 200);
        let spent: Vec<_> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(spent, vec![0; 199], "{order:?}");
        drop(looks);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

#[test]
fn a_full_arena_takes_from_the_heap_or_refuses() {
    let _watch = watchdog(LIMIT);
    for full in [ArenaFull::Heap, ArenaFull::NoMemory] {
        let server = orb(|options| {
            options.value_arena = 1024;
            options.value_arena_full = full;
            options.concurrency = Concurrency::Reactive;
        });
        let client = orb(|_| {});
        let wall = Wall::new(true);
        let board: BoardRef = server.root_poa().activate(Arc::clone(&wall)).unwrap();
        let board = elsewhere(&client, &board);
        for _ in 0..3 {
            let posted = board.post(&(0..50).map(note).collect::<Vec<_>>());
            match full {
                ArenaFull::Heap => assert_eq!(posted, Ok(())),
                ArenaFull::NoMemory => {
                    let refused = posted.unwrap_err();
                    assert_eq!(refused.kind, SystemExceptionKind::NoMemory);
                    assert_eq!(refused.minor, oxorb::minor::no_memory::ARENA);
                    assert_eq!(refused.completed, oxorb::CompletionStatus::No);
                }
            }
            // Values that fit are still served.
            board.plant(&tree(1)).unwrap();
        }
        assert_eq!(wall.trees.lock().unwrap().len(), 3);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Nested calls: the arena of the outer call stays.
#[test]
fn a_request_within_a_request_has_an_arena_of_its_own() {
    let _watch = watchdog(LIMIT);
    struct Outer(BoardRef);
    impl Board for Outer {
        fn post(&self, all: &[NoteView<'_>]) -> Result<()> {
            let mine: Vec<Note> = all.iter().cloned().map(Note::from).collect();
            self.0.post(&mine)?;
            self.0.plant(&tree(6))?;
            let again: Vec<Note> = all.iter().cloned().map(Note::from).collect();
            assert_eq!(mine, again);
            Ok(())
        }
        fn one(&self, _: &str, _: &NoteView<'_>, _: &mut i32) -> Result<String> {
            Ok(String::new())
        }
        fn plant(&self, _: &TreeView<'_>) -> Result<()> {
            Ok(())
        }
        fn total(&self, _: &[f64]) -> Result<f64> {
            Ok(0.0)
        }
        fn wide(&self, _: &str) -> Result<()> {
            Ok(())
        }
        fn pair(&self, _: &DetailView<'_>, _: &Flat, _: &str, _: i32) -> Result<()> {
            Ok(())
        }
        fn echo<'a>(&'a self, _: &'a [&'a str], raw: &'a [u8]) -> Result<Cow<'a, [u8]>> {
            Ok(raw.into())
        }
    }
    let server = orb(|_| {});
    let client = orb(|_| {});
    let wall = Wall::new(true);
    let inner: BoardRef = server.root_poa().activate(Arc::clone(&wall)).unwrap();
    let outer: BoardRef = server.root_poa().activate(Outer(inner)).unwrap();
    let sent: Vec<_> = (0..4).map(note).collect();
    elsewhere(&client, &outer).post(&sent).unwrap();
    assert_eq!(*wall.notes.lock().unwrap(), sent);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
