//! Concurrent calls through one reference while its object moves.

use shuttle::thread;

use super::*;

/// Checks calls to an object that moves: each request runs once, where the object is.
#[test]
fn calls_while_their_object_moves() {
    explore(|| {
        let (before, after) =
            (ModelServer::start(Options::default()), ModelServer::start(Options::default()));
        let client = super::client();
        let object = before.object(&client);
        let callers: Vec<_> = [10, 20]
            .into_iter()
            .map(|first| {
                let object = object.clone();
                thread::spawn(move || [first, first + 1].map(|n| (n, run(&object, n))))
            })
            .collect();
        before.forward_to(Some(after.object(&before.orb)));
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_eq!(told, Ok(number + 1));
                assert_eq!(before.ran(number) + after.ran(number), 1);
            }
        }
        assert_eq!((run(&object, 30), after.ran(30)), (Ok(31), 1), "now everybody knows");
        before.forward_to(None);
        client.shutdown(true).unwrap();
        before.end();
        after.end();
    });
}

/// Checks calls while the target of a forward ends, and the object returns to its original server.
#[test]
fn calls_while_their_object_moves_back() {
    explore(|| {
        let (home, away) =
            (ModelServer::start(Options::default()), ModelServer::start(Options::default()));
        let client = super::client();
        let object = home.object(&client);
        home.forward_to(Some(away.object(&home.orb)));
        assert_eq!(run(&object, 1), Ok(2));
        assert_eq!(away.ran(1), 1);
        let callers: Vec<_> = [10, 20]
            .into_iter()
            .map(|first| {
                let object = object.clone();
                thread::spawn(move || [first, first + 1].map(|n| (n, run(&object, n))))
            })
            .collect();
        home.forward_to(None);
        away.orb.shutdown(true).unwrap();
        for caller in callers {
            for (number, told) in caller.join().unwrap() {
                assert_eq!(told, Ok(number + 1));
                assert_eq!(home.ran(number) + away.ran(number), 1);
            }
        }
        assert_eq!((run(&object, 30), home.ran(30)), (Ok(31), 1), "back at home");
        client.shutdown(true).unwrap();
        home.end();
    });
}
