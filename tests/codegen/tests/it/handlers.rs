//! Reply handlers (AMI, callback model), as the compiler makes them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::{
    CompletionStatus, Interface as _, Link, Orb, ReplyTo, SystemException, SystemExceptionKind,
};
use oxorb_codegen_tests::asynchronous::kitchen::oven::{BakeError, Full};
use oxorb_codegen_tests::asynchronous::kitchen::{
    AmiHeaterHandler, AmiHeaterHandlerRef, AmiOvenHandler, AmiOvenHandlerRef, Cold, DishRef,
    Heater, Oven, OvenRef, Recipe,
};
use oxorb_codegen_tests::asynchronous::messaging::{ExceptionHolder, ReplyHandler};

/// Writes down what it is told.
struct Told(Mutex<Sender<String>>);

impl Told {
    fn note(&self, what: impl Into<String>) -> oxorb::Result<()> {
        self.0.lock().unwrap().send(what.into()).unwrap();
        Ok(())
    }

    fn failed(&self, what: &str, holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        let holder = holder.get().expect("not null");
        let raised = SystemException::from(&*holder);
        self.note(format!("{what}: {:?} {:?}", raised.kind, raised.completed))
    }
}

impl ReplyHandler for Told {}

impl AmiHeaterHandler for Told {
    fn get_power(&self, ami_return_val: f64) -> oxorb::Result<()> {
        self.note(format!("power {ami_return_val}"))
    }
    fn get_power_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("power", excep_holder)
    }
    fn set_power(&self) -> oxorb::Result<()> {
        self.note("power set")
    }
    fn set_power_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("set power", excep_holder)
    }
    fn get_maker(&self, ami_return_val: &str) -> oxorb::Result<()> {
        self.note(ami_return_val)
    }
    fn get_maker_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("maker", excep_holder)
    }
}

impl AmiOvenHandler for Told {
    fn bake(&self, ami_return_val: i64) -> oxorb::Result<()> {
        self.note(format!("baked {ami_return_val}"))
    }
    fn bake_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        let holder = excep_holder.get().expect("not null");
        self.note(format!("{:?}", BakeError::from(&*holder)))
    }
    fn tell(&self) -> oxorb::Result<()> {
        self.note("told")
    }
    fn tell_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("tell", excep_holder)
    }
    fn swap(
        &self,
        ami_return_val: &Recipe,
        both: &Recipe,
        first: &str,
        photo: &[u8],
        raw: &[u8],
    ) -> oxorb::Result<()> {
        let (a, b) = (&ami_return_val.name, &both.name);
        self.note(format!("{a} {b} {first} {photo:?} {raw:?}"))
    }
    fn swap_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("swap", excep_holder)
    }
    fn serve(&self, ami_return_val: Option<&DishRef>) -> oxorb::Result<()> {
        self.note(format!("served {}", ami_return_val.is_some()))
    }
    fn serve_excep(&self, excep_holder: &Link<ExceptionHolder>) -> oxorb::Result<()> {
        self.failed("serve", excep_holder)
    }
}

struct Baker(Mutex<f64>);

impl Heater for Baker {
    fn power(&self) -> oxorb::Result<f64> {
        Ok(*self.0.lock().unwrap())
    }
    fn set_power(&self, value: f64) -> oxorb::Result<()> {
        *self.0.lock().unwrap() = value;
        Ok(())
    }
    fn maker(&self) -> oxorb::Result<String> {
        Err(SystemException::no_permission(1, CompletionStatus::No))
    }
    fn sweep(&self, _: &str) {}
}

impl Oven for Baker {
    fn bake(&self, what: &str, minutes: i32) -> Result<i64, BakeError> {
        match minutes {
            0 => Err(Cold { degrees: 20 }.into()),
            1 => Err(Full { what: vec![what.to_owned()] }.into()),
            2 => Err(SystemException::no_permission(4, CompletionStatus::Yes).into()),
            _ => Ok(i64::from(minutes) * 2),
        }
    }
    fn tell(&self, _: &str, _: &[u8], _: Option<&DishRef>) -> oxorb::Result<()> {
        Ok(())
    }
    fn swap<'a>(
        &'a self,
        in_: &'a Recipe,
        both: &mut Recipe,
        raw: &mut Vec<u8>,
    ) -> oxorb::Result<(Recipe, String, std::borrow::Cow<'a, [u8]>)> {
        let before = std::mem::replace(both, in_.clone());
        raw.push(9);
        Ok((before, in_.name.clone(), (&in_.photo).into()))
    }
    fn serve(&self, _: bool) -> oxorb::Result<Option<DishRef>> {
        Ok(None)
    }
}

type To = ReplyTo<AmiOvenHandlerRef, dyn AmiOvenHandler>;

fn next(told: &Receiver<String>) -> String {
    told.recv_timeout(Duration::from_secs(60)).unwrap()
}

fn call_all(oven: &OvenRef, to: &To, told: &Receiver<String>) {
    oven.sendc_bake(to.clone(), "bread", 4);
    assert_eq!(next(told), "baked 8");
    for (minutes, wanted) in [
        (0, BakeError::Cold(Cold { degrees: 20 })),
        (1, BakeError::Full(Full { what: vec!["cake".to_owned()] })),
        (2, SystemException::no_permission(4, CompletionStatus::Yes).into()),
    ] {
        oven.sendc_bake(to.clone(), "cake", minutes);
        assert_eq!(next(told), format!("{wanted:?}"));
    }
    oven.sendc_tell(to.clone(), "yes", &[1], None);
    assert_eq!(next(told), "told");
    let [a, b] = ["a", "b"].map(|name| Recipe { name: name.to_owned(), photo: vec![7] });
    oven.sendc_swap(to.clone(), &a, &b, &[1]);
    assert_eq!(next(told), "b a a [7] [1, 9]");
    oven.sendc_serve(to.clone(), true);
    assert_eq!(next(told), "served false");
    // Nobody wants to know.
    oven.sendc_bake(ReplyTo::Nobody, "bread", 0);
}

#[test]
fn a_handler_is_an_object_anywhere_or_no_object_at_all() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let third = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let oven: OvenRef = server.root_poa().activate(Baker(Mutex::new(1.0))).unwrap();
    let oven: OvenRef = client.resolve(&oven.to_ior()).unwrap();
    let (sender, told) = channel();
    let handler = || Told(Mutex::new(sender.clone()));

    call_all(&oven, &ReplyTo::Local(Arc::new(handler())), &told);
    let here: AmiOvenHandlerRef = client.root_poa().activate(handler()).unwrap();
    call_all(&oven, &ReplyTo::Object(here), &told);
    let elsewhere: AmiOvenHandlerRef = third.root_poa().activate(handler()).unwrap();
    let elsewhere: AmiOvenHandlerRef = client.resolve(&elsewhere.to_ior()).unwrap();
    let id = "IDL:omg.org/Messaging/ReplyHandler:1.0";
    assert!(oxorb::Interface::reference(&elsewhere).is_a(id).unwrap());
    assert_eq!(
        oxorb::Interface::reference(&elsewhere).repository_id().unwrap(),
        "IDL:kitchen/AMI_OvenHandler:1.0"
    );
    call_all(&oven, &ReplyTo::Object(elsewhere.clone()), &told);

    // Attributes, which are inherited.
    let heat = || -> ReplyTo<AmiHeaterHandlerRef, dyn AmiHeaterHandler> {
        ReplyTo::Local(Arc::new(handler()))
    };
    oven.sendc_set_power(heat(), 2.5);
    assert_eq!(next(&told), "power set");
    let inherited = ReplyTo::Object(elsewhere.into());
    oven.sendc_get_power(inherited);
    assert_eq!(next(&told), "power 2.5");
    oven.sendc_get_maker(heat());
    assert_eq!(next(&told), "maker: NoPermission No");

    // What could not be sent goes to the handler, too.
    server.shutdown(true).unwrap();
    oven.sendc_get_maker(heat());
    let unreachable = SystemExceptionKind::Transient;
    assert_eq!(next(&told), format!("maker: {unreachable:?} No"));
    client.shutdown(true).unwrap();
    third.shutdown(true).unwrap();
}
