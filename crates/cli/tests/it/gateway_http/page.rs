//! The page of the book, and the page to try operations.

use serde_json::Value;

use super::Bank;

const PAGE: &str = include_str!("../../../../../docs/gateway-http.md");

/// Returns the blocks of code with a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = PAGE.split(fence.as_str()).skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn the_examples_of_the_page_are_answered_as_it_says() {
    let bank = Bank::with("http-page", blocks("idl")[0], blocks("toml")[0], &[]);
    let examples = blocks("http");
    assert!(examples.len() >= 6, "{examples:?}");
    for example in examples {
        let (request, expected) = example.split_once("\n\n").expect("a request and an answer");
        let (line, body) = request.split_once('\n').unwrap_or((request, ""));
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let json = "Content-Type: application/json\r\n";
        let reply = super::ask(&bank.address, method, path, json, body);
        let (status, value) = expected.split_once('\n').unwrap_or((expected, ""));
        assert_eq!(reply.status.to_string(), status, "{example}: {reply:?}");
        match value.trim() {
            "" => assert_eq!(reply.body, "", "{example}"),
            value => {
                let value: Value = serde_json::from_str(value).expect("JSON");
                assert_eq!(reply.json(), value, "{example}");
            }
        }
    }
}

#[test]
fn the_page_loads_nothing_from_elsewhere() {
    let bank = Bank::open("http-html", &[]);
    for (path, media_type) in
        [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")]
    {
        let reply = bank.get(path);
        assert_eq!(reply.status, 200, "{path}");
        let is_typed = reply.field("content-type").is_some_and(|it| it.starts_with(media_type));
        assert!(is_typed, "{reply:?}");
        let policy = reply.field("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert_eq!(reply.field("x-content-type-options"), Some("nosniff"));
    }
}
