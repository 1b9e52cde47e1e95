//! docs/config.md says what the table of settings says. `BLESS=1` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

#[test]
fn the_page_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let wanted = render();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&page, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/config.md is stale: BLESS=1 cargo test -p oxorb --test config_page"
    );
}

fn render() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         <!-- Written by crates/orb/tests/config_page.rs from the table in \
         crates/core/src/options.rs. -->\n\n\
         Each setting can be given as an argument (`-ORBName value` or `-ORBName=value`, taken \
         out of the command line by `Builder::args`), as an environment variable, or to the \
         builder (`Builder::setting`, and methods of its own for most). An argument wins over \
         the environment. An unknown `-ORB` argument is an error.\n\n\
         | argument | environment | takes | |\n|---|---|---|---|\n",
    );
    for setting in oxorb::SETTINGS {
        let value = setting.value.replace('|', "\\|");
        writeln!(
            page,
            "| `-ORB{}` | `OXORB_{}` | `{value}` | {} |",
            setting.name,
            setting.name.to_uppercase(),
            setting.help
        )
        .unwrap();
    }
    page.push_str(
        "\nThe spellings of omniORB (`-ORBendPoint`, `-ORBmaxGIOPVersion`, \
         `-ORBclientCallTimeOutPeriod`, `-ORBgiopMaxMsgSize`) and TAO (`-ORBEndpoint`) are \
         understood, too.\n",
    );
    page
}
