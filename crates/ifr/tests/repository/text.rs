//! Text in definitions that a client's code sets cannot carry.

use oxorb::values::Wstring;
use oxorb::{Interface as _, Orb};
use oxorb_ifr::corba::{
    ConstantDefRef, ConstantDescription, DefinitionKind, RepositoryRef, UnionDefRef,
};

use super::{Folder, Served};

const IDL: &str = "const string beetle = \"жук {U+0436}\"; const string plain = \"plain\"; \
    const wstring wide = L\"жук\"; union U switch (wchar) { case L'ж': long x; };";

fn constants(repository: &RepositoryRef) -> Vec<ConstantDescription> {
    let all = repository.describe_contents(DefinitionKind::DkConstant, true, -1);
    let values = all.unwrap().into_iter().map(|one| one.value);
    values.map(|value| value.get().unwrap().unwrap()).collect()
}

#[test]
fn a_constant_outside_of_a_clients_code_set_hides_no_other() {
    let folder = Folder::new("text");
    let served = Served::new(&[folder.unit("text.idl", IDL)]);
    // A `corbaloc:` reference contains no code sets, so ISO 8859-1 and no wide characters are used. An IOR contains
    // UTF-8 and UTF-16.
    let latin = &served.repository;
    let ior = served.served.reference().to_ior();
    // A second ORB is necessary, because code sets are negotiated only once for a connection.
    let orb = Orb::builder().build().unwrap();
    let unicode: RepositoryRef = orb.resolve(&ior).unwrap();
    let texts = |repository| -> Vec<Option<String>> {
        let all = constants(repository).into_iter();
        all.map(|one| one.value.get().unwrap()).collect()
    };
    let said = constants(&unicode);
    assert_eq!(said[2].value.get(), Ok(Some(Wstring("жук".to_owned()))));
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(texts(&unicode), [text("жук {U+0436}"), text("plain"), None]);
    assert_eq!(
        texts(latin),
        [
            text("{U+0436}{U+0443}{U+043A} {U+007B}U+0436}"),
            text("plain"),
            text("{U+0436}{U+0443}{U+043A}")
        ]
    );
    let found: ConstantDefRef = served.found("wide");
    assert_eq!(found.value().unwrap().get(), Ok(Some(Wstring("жук".to_owned()))));
    let union: UnionDefRef = served.found("U");
    assert_eq!(union.members().unwrap().len(), 1);
}
