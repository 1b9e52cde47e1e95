//! McCabe's cyclomatic complexity of each function of a file.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::lines;

/// Function, with its counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) lines: usize,
    /// Number of decisions plus one; `?` does not count, like exceptions in C++.
    pub(super) complexity: usize,
    /// Number of `?`.
    pub(super) early_returns: usize,
}

/// Measures the functions of a file, except tests. Closures count as part of their function; bodies of macros are not
/// analysed.
pub(super) fn functions(file: &syn::File, text: &str) -> Vec<Function> {
    let mut found = Found { text, functions: Vec::new() };
    found.visit_file(file);
    found.functions
}

struct Found<'t> {
    text: &'t str,
    functions: Vec<Function>,
}

impl Found<'_> {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let mut decisions = Decisions::default();
        decisions.visit_block(block);
        let (first, last) = (signature.span().start().line, block.span().end().line);
        self.functions.push(Function {
            name: signature.ident.to_string(),
            lines: lines::of_code(self.text, first..=last),
            complexity: 1 + decisions.made,
            early_returns: decisions.early_returns,
        });
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            self.add(&function.sig, &function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.add(&function.sig, block);
            visit::visit_trait_item_fn(self, function);
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        // All words of `cfg(any(test, feature = "fuzz"))`.
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let words = list.tokens.to_string();
            let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.any(|word| matches!(word, "test" | "fuzz" | "fuzzing"))
        }
        _ => false,
    })
}

#[derive(Default)]
struct Decisions {
    made: usize,
    early_returns: usize,
}

impl<'ast> Visit<'ast> for Decisions {
    fn visit_expr_if(&mut self, it: &'ast syn::ExprIf) {
        self.made += 1;
        visit::visit_expr_if(self, it);
    }

    fn visit_expr_while(&mut self, it: &'ast syn::ExprWhile) {
        self.made += 1;
        visit::visit_expr_while(self, it);
    }

    fn visit_expr_for_loop(&mut self, it: &'ast syn::ExprForLoop) {
        self.made += 1;
        visit::visit_expr_for_loop(self, it);
    }

    fn visit_expr_match(&mut self, it: &'ast syn::ExprMatch) {
        self.made += it.arms.len().saturating_sub(1);
        visit::visit_expr_match(self, it);
    }

    fn visit_pat_guard(&mut self, it: &'ast syn::PatGuard) {
        self.made += 1;
        visit::visit_pat_guard(self, it);
    }

    fn visit_local(&mut self, it: &'ast syn::Local) {
        let otherwise = it.init.as_ref().and_then(|init| init.diverge.as_ref());
        self.made += usize::from(otherwise.is_some());
        visit::visit_local(self, it);
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        self.made += usize::from(matches!(it.op, syn::BinOp::And(_) | syn::BinOp::Or(_)));
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_try(&mut self, it: &'ast syn::ExprTry) {
        self.early_returns += 1;
        visit::visit_expr_try(self, it);
    }

    /// Skips inner functions, which are measured separately.
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(text: &str) -> Vec<(String, usize, usize, usize)> {
        let functions = functions(&syn::parse_file(text).unwrap(), text);
        let measured = |it: Function| (it.name, it.lines, it.complexity, it.early_returns);
        functions.into_iter().map(measured).collect()
    }

    #[test]
    fn decisions_are_counted_where_they_stand() {
        let text = "
fn straight() { g(); }
fn all(a: bool, b: Option<u8>) -> Option<u8> {
    // a comment
    let Some(c) = b else { return None };
    if a && c > 1 { return b; }
    for _ in 0..c { while a {} }
    let twice = |d| if d { b? } else { 0 };
    fn within(a: bool) -> bool { a || !a }
    match c { 0 => None, 1 if a => b, _ => Some(twice(a)) }
}
#[cfg(test)] mod tests { #[test] fn not_this() {} }
#[test] fn nor_this() {}
trait T { fn bodiless(); fn given(&self) -> u8 { 1 } }
";
        let straight = ("straight".to_owned(), 1, 1, 0);
        // let-else, if, &&, for, while, if, two further arms, a guard.
        let all = ("all".to_owned(), 8, 10, 1);
        let within = ("within".to_owned(), 1, 2, 0);
        let given = ("given".to_owned(), 1, 1, 0);
        assert_eq!(measured(text), [straight, all, within, given]);
    }
}
