//! Which code set strings travel in (P4).

mod common;

use common::LONG;
use oxorb::__gen::Op;
use oxorb::{Interface as _, Orb, Outcome, Servant, SystemException, SystemExceptionKind, Upcall};
use oxorb_cdr::CharSet;
use oxorb_testkit::watchdog;
use std::sync::Arc;

static ECHO: Op = Op::twoway("echo");

struct Echo;

impl Servant for Echo {
    fn repository_id(&self) -> &str {
        "IDL:test/Echo:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.string().map(|text| text.into_owned())) {
            Ok(text) => upcall.reply(|e| e.string(&text)),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

#[test]
fn utf_8_is_chosen_where_the_server_lists_it_and_the_client_prefers_it() {
    let _guard = watchdog(LONG);
    let server = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .native_chars(CharSet::Iso8859_1)
        .build()
        .unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    for prefer in [false, true] {
        // At home in ISO 8859-1, as the server is, so that nothing else chooses UTF-8.
        let client = Orb::builder()
            .native_chars(CharSet::Iso8859_1)
            .prefer_utf8(prefer)
            .build()
            .unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        let echoed: Result<String, SystemException> = object.reference().invoke(
            &ECHO,
            |e| e.string("10 €"),
            |d| Ok(d.string()?.into_owned()),
        );
        match prefer {
            true => assert_eq!(echoed.as_deref(), Ok("10 €")),
            false => {
                let refused = echoed.unwrap_err();
                assert_eq!(refused.kind, SystemExceptionKind::DataConversion);
            }
        }
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}
