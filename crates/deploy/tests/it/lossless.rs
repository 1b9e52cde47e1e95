//! Conversion of any plan through TOML and XML and back preserves it.

use oxorb_deploy::{Document, Format, Limits};
use proptest::prelude::*;

use crate::any_plan::plan;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_plan_survives_toml_and_xml(plan in plan()) {
        let first = Document::from(plan);
        let mut document = first.clone();
        for format in [Format::Toml, Format::Xml, Format::Toml] {
            let text = document.write(format).unwrap();
            document = Document::read(&text, format, &Limits::default())
                .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            prop_assert_eq!(&document, &first, "{}", text);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[<>/a-zA-Z\"=\\[\\]{}&;.:! \n-]{0,120}") {
        for format in [Format::Toml, Format::Xml] {
            let _ = Document::read(&text, format, &Limits::default());
        }
    }
}
