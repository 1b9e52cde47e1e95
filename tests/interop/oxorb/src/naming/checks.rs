//! Checks, equal to those of the other ORBs' clients.

use oxorb::{Interface as _, ObjectRef};
use oxorb_naming::cos_naming::naming_context::NotFoundReason;
use oxorb_naming::cos_naming::naming_context_ext::ToUrlError;
use oxorb_naming::cos_naming::{
    Binding, BindingType, NameComponent, NamingContextExtRef, NamingContextRef,
};
use oxorb_naming::{Names, Problem};

use super::{Checks, Failure, Result, holds, same};

/// Creates a name from alternating ids and kinds.
fn name(parts: &[&str]) -> Vec<NameComponent> {
    let components = parts
        .chunks(2)
        .map(|part| NameComponent { id: part[0].to_owned(), kind: part[1].to_owned() });
    components.collect()
}

fn some<T>(reference: Option<T>) -> Result<T> {
    reference.ok_or(Failure("expected a reference, got nil".to_owned()))
}

fn problem<T, E: Into<Problem>>(what: &str, got: core::result::Result<T, E>) -> Result<Problem> {
    match got {
        Ok(_) => Err(Failure(format!("{what}: expected an exception"))),
        Err(error) => Ok(error.into()),
    }
}

fn raises<T, E: Into<Problem>>(
    what: &str,
    expected: Problem,
    got: core::result::Result<T, E>,
) -> Result {
    same(what, expected, problem(what, got)?)
}

fn not_found<T, E: Into<Problem>>(
    what: &str,
    why: NotFoundReason,
    rest: &[&str],
    got: core::result::Result<T, E>,
) -> Result {
    match problem(what, got)? {
        Problem::NotFound(found) => same(what, (why, name(rest)), (found.why, found.rest_of_name)),
        other => Err(Failure(format!("{what}: expected NotFound, got {other:?}"))),
    }
}

/// Returns sorted ids; those of contexts have a trailing slash.
fn ids<'b>(bindings: impl IntoIterator<Item = &'b Binding>) -> Vec<String> {
    let ids = bindings.into_iter().map(|binding| {
        let id = binding.binding_name.last().map_or("", |last| &last.id);
        let slash = if binding.binding_type == BindingType::Ncontext { "/" } else { "" };
        format!("{id}{slash}")
    });
    let mut ids: Vec<_> = ids.collect();
    ids.sort();
    ids
}

const LISTED: [&str; 6] = ["k", "l", "m", "n", "o", "sub/"];

fn resolves(context: &NamingContextExtRef, parts: &[&str], expected: &ObjectRef) -> Result {
    let found = some(context.resolve(&name(parts))?)?;
    holds(found == *expected, &format!("{parts:?} to lead to what was bound"))
}

impl Checks {
    fn context_at(&self, url: &str) -> Result<NamingContextExtRef> {
        Ok(self.orb.resolve(url)?)
    }

    pub(super) fn run(&mut self) -> Result {
        let one = self.orb.string_to_object("corbaloc:iiop:1.2@127.0.0.1:1/One")?;
        let two = self.orb.string_to_object("corbaloc:iiop:1.2@127.0.0.1:1/Two")?;
        let mine = format!("oxorb-{}", std::process::id());
        self.check("initial_reference", |checks| {
            let found = checks.orb.resolve_initial_references("NameService")?;
            holds(found.narrow::<NamingContextExtRef>()?.is_some(), "a NamingContextExt")
        });
        let root = self.context_at(&self.url)?;
        let here = some(root.bind_new_context(&name(&[&mine, "test"]))?)?;
        let here: NamingContextExtRef = some(here.narrow()?)?;
        self.bindings(&here, &one, &two);
        self.contexts(&here, &one, &two);
        let list = some(here.bind_new_context(&name(&["list", ""]))?)?;
        for id in ["k", "l", "m", "n", "o"] {
            list.bind(&name(&[id, ""]), Some(&one))?;
        }
        list.bind_new_context(&name(&["sub", ""]))?;
        self.lists(&list);
        self.texts(&here, &one, &mine);
        self.check("other_server", |checks| {
            let there = checks.context_at(&checks.other)?;
            here.bind_context(&name(&["other", ""]), Some(&there.clone().into()))?;
            let made = some(here.bind_new_context(&name(&["other", "", &mine, ""]))?)?;
            here.bind(&name(&["other", "", &mine, "", "o", ""]), Some(&two))?;
            resolves(&here, &["other", "", &mine, "", "o", ""], &two)?;
            resolves(&there, &[&mine, "", "o", ""], &two)?;
            let missing = here.resolve(&name(&["other", "", &mine, "", "x", ""]));
            not_found("resolve", NotFoundReason::MissingNode, &["x", ""], missing)?;
            here.unbind(&name(&["other", "", &mine, "", "o", ""]))?;
            made.destroy()?;
            here.unbind(&name(&["other", "", &mine, ""]))?;
            Ok(())
        });
        Ok(())
    }

    fn bindings(&mut self, here: &NamingContextExtRef, one: &ObjectRef, two: &ObjectRef) {
        self.check("bind_and_resolve", |_| {
            here.bind(&name(&["one", ""]), Some(one))?;
            resolves(here, &["one", ""], one)
        });
        self.check("kinds_differ", |_| {
            here.bind(&name(&["one", "kind"]), Some(two))?;
            here.bind(&name(&["", "one"]), Some(two))?;
            resolves(here, &["one", ""], one)?;
            resolves(here, &["one", "kind"], two)?;
            resolves(here, &["", "one"], two)
        });
        self.check("already_bound", |_| {
            let (taken, context) = (name(&["one", ""]), here.clone().into());
            raises("bind", Problem::AlreadyBound, here.bind(&taken, Some(two)))?;
            let bound = here.bind_context(&taken, Some(&context));
            raises("bind_context", Problem::AlreadyBound, bound)?;
            let made = here.bind_new_context(&taken);
            raises("bind_new_context", Problem::AlreadyBound, made)?;
            resolves(here, &["one", ""], one)
        });
        self.check("rebind", |_| {
            here.rebind(&name(&["again", ""]), Some(one))?;
            here.rebind(&name(&["again", ""]), Some(two))?;
            resolves(here, &["again", ""], two)
        });
        self.check("unbind", |_| {
            let short = name(&["short", ""]);
            here.bind(&short, Some(one))?;
            here.unbind(&short)?;
            let why = NotFoundReason::MissingNode;
            not_found("resolve", why, &["short", ""], here.resolve(&short))?;
            not_found("unbind", why, &["short", ""], here.unbind(&short))
        });
    }

    fn contexts(&mut self, here: &NamingContextExtRef, one: &ObjectRef, two: &ObjectRef) {
        self.check("contexts", |_| {
            let a = some(here.bind_new_context(&name(&["a", "dir"]))?)?;
            let b = some(a.new_context()?)?;
            a.bind_context(&name(&["b", ""]), Some(&b))?;
            b.bind(&name(&["deep", ""]), Some(one))?;
            resolves(here, &["a", "dir", "b", "", "deep", ""], one)?;
            here.bind(&name(&["a", "dir", "b", "", "deeper", ""]), Some(two))?;
            here.bind_new_context(&name(&["a", "dir", "b", "", "c", ""]))?;
            let found = some(b.resolve(&name(&["deeper", ""]))?)?;
            holds(found == *two, "deeper in b")
        });
        self.check("missing_node", |_| {
            let why = NotFoundReason::MissingNode;
            let resolved = here.resolve(&name(&["x", "", "y", ""]));
            not_found("first", why, &["x", "", "y", ""], resolved)?;
            let bound = here.bind(&name(&["a", "dir", "x", "", "y", ""]), Some(one));
            not_found("second", why, &["x", "", "y", ""], bound)?;
            let resolved = here.resolve(&name(&["a", "dir", "x", ""]));
            not_found("last", why, &["x", ""], resolved)
        });
        self.check("not_context", |_| {
            let why = NotFoundReason::NotContext;
            let bound = here.bind(&name(&["one", "", "x", ""]), Some(one));
            not_found("bind", why, &["one", "", "x", ""], bound)?;
            let deep = name(&["a", "dir", "b", "", "deep", "", "x", ""]);
            not_found("resolve", why, &["deep", "", "x", ""], here.resolve(&deep))
        });
        self.check("rebind_wrong_kind", |_| {
            here.bind_new_context(&name(&["victim", ""]))?;
            let bound = here.rebind(&name(&["victim", ""]), Some(one));
            not_found("rebind", NotFoundReason::NotObject, &["victim", ""], bound)?;
            let context: NamingContextRef = here.clone().into();
            let bound = here.rebind_context(&name(&["one", ""]), Some(&context));
            let why = NotFoundReason::NotContext;
            not_found("rebind_context", why, &["one", ""], bound)
        });
        self.check("rebind_context", |_| {
            here.bind_new_context(&name(&["turn", ""]))?;
            let second = some(here.new_context()?)?;
            here.rebind_context(&name(&["turn", ""]), Some(&second))?;
            second.bind(&name(&["in", ""]), Some(one))?;
            resolves(here, &["turn", "", "in", ""], one)
        });
        self.check("invalid_name", |_| {
            raises("resolve", Problem::InvalidName, here.resolve(&[]))?;
            raises("bind", Problem::InvalidName, here.bind(&[], Some(one)))?;
            raises("unbind", Problem::InvalidName, here.unbind(&[]))
        });
        self.check("not_empty", |_| {
            let full = some(here.bind_new_context(&name(&["full", ""]))?)?;
            full.bind(&name(&["x", ""]), Some(one))?;
            raises("destroy", Problem::NotEmpty, full.destroy())
        });
        self.check("destroy", |_| {
            let brief = some(here.bind_new_context(&name(&["brief", ""]))?)?;
            brief.destroy()?;
            here.unbind(&name(&["brief", ""]))?;
            holds(brief.non_existent()?, "the context to be gone")
        });
    }

    fn lists(&mut self, list: &NamingContextRef) {
        self.check("list", |_| {
            let (all, rest) = list.list(100)?;
            same("bindings", LISTED.map(str::to_owned).to_vec(), ids(&all))?;
            holds(rest.is_none(), "no iterator")
        });
        self.check("iterator", |_| {
            let (mut all, rest) = list.list(2)?;
            let rest = some(rest)?;
            holds(all.len() == 2, "two")?;
            let (there_is, third) = rest.next_one()?;
            holds(there_is, "a third")?;
            all.push(third);
            let (there_are, more) = rest.next_n(2)?;
            holds(there_are && more.len() == 2, "two more")?;
            all.extend(more);
            loop {
                let (there_is, next) = rest.next_one()?;
                if !there_is {
                    break;
                }
                all.push(next);
            }
            same("bindings", LISTED.map(str::to_owned).to_vec(), ids(&all))?;
            let (there_are, more) = rest.next_n(1)?;
            holds(!there_are && more.is_empty(), "the end")?;
            rest.destroy()?;
            holds(rest.non_existent()?, "the iterator to be gone")?;
            let entries = Names::new(list.clone()).list()?;
            holds(entries.count() == LISTED.len(), "as many entries")
        });
        self.check("list_nothing_first", |_| {
            let (none, rest) = list.list(0)?;
            holds(none.is_empty(), "an iterator alone")?;
            let rest = some(rest)?;
            let (there_are, all) = rest.next_n(100)?;
            holds(there_are, "all of them")?;
            same("bindings", LISTED.map(str::to_owned).to_vec(), ids(&all))?;
            Ok(rest.destroy()?)
        });
    }

    fn texts(&mut self, here: &NamingContextExtRef, one: &ObjectRef, mine: &str) {
        self.check("to_string_and_back", |_| {
            let components = name(&["a/b", "c.d", "", "", "\\", "", "", "k"]);
            let text = here.to_string(&components)?;
            same("text", r"a\/b.c\.d/./\\/.k", &text)?;
            same("name", &components, &here.to_name(&text)?)?;
            same("ours", text, oxorb_naming::stringify(&components))
        });
        self.check("malformed_text", |_| {
            for wrong in ["", "a//b", "/a", "a/", "a.b.c"] {
                raises(wrong, Problem::InvalidName, here.to_name(wrong))?;
            }
            raises("resolve_str", Problem::InvalidName, here.resolve_str("a//b"))?;
            raises("to_string", Problem::InvalidName, here.to_string(&[]))
        });
        self.check("trailing_dot", |_| raises("to_name", Problem::InvalidName, here.to_name("a.")));
        self.check("resolve_str", |_| {
            let found = some(here.resolve_str("a.dir/b/deep")?)?;
            holds(found == *one, "what was bound")?;
            let missing = here.resolve_str("a.dir/x");
            not_found("resolve_str", NotFoundReason::MissingNode, &["x", ""], missing)
        });
        self.check("to_url", |_| {
            let url = here.to_url(":host:2809/NameService", "a/b c")?;
            same("url", "corbaname::host:2809/NameService#a/b%20c", &url)
        });
        self.check("invalid_address", |_| match here.to_url("", "a") {
            Err(ToUrlError::InvalidAddress(_)) => Ok(()),
            other => Err(Failure(format!("expected InvalidAddress, got {other:?}"))),
        });
        self.check("corbaname", |checks| {
            let place = checks.url.trim_start_matches("corbaloc");
            let url = format!("corbaname{place}#{mine}.test/a.dir/b/deep");
            let found = checks.orb.string_to_object(&url)?;
            holds(found == *one, "what was bound")
        });
        self.check("latin1", |_| {
            here.bind(&name(&["grüß", "ä"]), Some(one))?;
            resolves(here, &["grüß", "ä"], one)?;
            Ok(here.unbind(&name(&["grüß", "ä"]))?)
        });
    }
}
