//! Definitions at file scope, and those from included files.

use oxorb::{Interface, Orb};
use oxorb_codegen_tests::hello::GreetError;
use oxorb_codegen_tests::{
    Either, Forward, ForwardRef, Greeting, Greetings, Hello, HelloRef, Mood, PATIENCE, Shy, either,
    included,
};

struct Host {
    itself: std::sync::OnceLock<HelloRef>,
}

impl included::Base for Host {
    fn need(&self) -> oxorb::Result<included::Needed> {
        Ok(included::Needed { x: PATIENCE })
    }
}

impl Hello for Host {
    fn greet(&self, words: &Greeting, via: Option<&ForwardRef>) -> Result<Greetings, GreetError> {
        if words.feeling == Mood::Sad {
            return Err(Shy { excuse: words.text.clone() }.into());
        }
        // The reference is sent to another object and back.
        let back = via.map(ForwardRef::back).transpose()?.flatten();
        let needed = back.map(|hello| hello.need()).transpose()?;
        let mut answer = words.clone();
        answer.needed = needed.unwrap_or(words.needed);
        Ok(vec![answer])
    }
}

impl Forward for Host {
    fn back(&self) -> oxorb::Result<Option<HelloRef>> {
        Ok(self.itself.get().cloned())
    }
}

#[test]
fn calls_across_interfaces_of_one_file() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let host = std::sync::Arc::new(Host { itself: Default::default() });
    // The servant implements two interfaces, and the type of the reference selects one.
    let hello: HelloRef = orb.root_poa().activate(std::sync::Arc::clone(&host)).unwrap();
    let forward: ForwardRef =
        orb.root_poa().activate(std::sync::Arc::clone(&host)).unwrap_or_else(|_| {
            let poa = orb.root_poa().create_poa("forward", Default::default()).unwrap();
            poa.activate(std::sync::Arc::clone(&host)).unwrap()
        });
    host.itself.set(hello.clone()).unwrap();

    let words =
        Greeting { text: "hello".into(), feeling: Mood::Glad, needed: included::Needed { x: 0 } };
    let answers = hello.greet(&words, Some(&forward)).unwrap();
    assert_eq!(answers[0].needed.x, 3);
    assert_eq!(included::BaseRef::from(hello.clone()).need().unwrap().x, 3);

    let sad = Greeting { feeling: Mood::Sad, ..words };
    let refused = hello.greet(&sad, None).unwrap_err();
    assert_eq!(refused, GreetError::Shy(Shy { excuse: "hello".into() }));
    assert_eq!(HelloRef::REPOSITORY_ID, "IDL:Hello:1.0");
    assert_eq!(refused.to_string(), r#"Shy: excuse "hello""#);
}

#[test]
fn unions_at_file_scope() {
    assert_eq!(Either::right(5), Either::Right(either::RightLabel::new(2).unwrap(), 5));
    assert_eq!(Either::other().discriminant(), 0);
}
