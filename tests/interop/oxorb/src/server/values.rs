//! Objects for `interop_values.idl`.

use oxorb::values::{Abstract, Link, ValueBase, Valuetype};
use oxorb::{Any, CompletionStatus, Orb, SystemException};
use oxorb_interop::interop_values::*;
use oxorb_interop::lanes;
use oxorb_interop::values::{Far, described, name_of};

use crate::any::fresh_as;
use crate::data::{Result, rotate, rotate_borrowed};

/// Object through which clients obtain the values.
pub(crate) struct Values {
    orb: Orb,
    page: PageRef,
}

impl Values {
    pub(crate) fn new(orb: &Orb) -> core::result::Result<Self, oxorb::poa::PoaError> {
        orb.values().register(Base::factories());
        orb.values().register(Node::factories());
        Ok(Self { orb: orb.clone(), page: lanes::propagated(orb).activate(OnePage)? })
    }
}

struct OnePage;

impl Printable for OnePage {
    fn print(&self) -> Result<String> {
        Ok("page".to_owned())
    }
}

impl Page for OnePage {}

impl Suite for Values {
    fn echo_node(&self, it: &Link<Node>) -> Result<Link<Node>> {
        Ok(it.clone())
    }

    fn echo_nodes(&self, all: &[Link<Node>], one: &Link<Node>) -> Result<(Nodes, Link<Node>)> {
        Ok((all.to_vec(), one.clone()))
    }

    fn echo_base(&self, it: &Link<Base>) -> Result<Link<Base>> {
        Ok(it.clone())
    }

    fn name_of(&self, it: &Link<Base>) -> Result<String> {
        Ok(name_of(it))
    }

    fn echo_text(&self, a: &Link<Text>, b: &Link<Text>) -> Result<(Link<Text>, bool)> {
        Ok((a.clone(), a == b))
    }

    fn page(&self) -> Result<Abstract<PrintableRef>> {
        Ok(Abstract::Object(self.page.clone().into()))
    }

    fn echo_printable(&self, it: &Abstract<PrintableRef>) -> Result<Abstract<PrintableRef>> {
        Ok(it.clone())
    }

    fn printed(&self, it: &Abstract<PrintableRef>) -> Result<String> {
        match it {
            Abstract::Object(object) => object.print(),
            Abstract::Value(value) => match value.downcast::<Form>() {
                Some(form) => Ok(format!("form {}", form.body)),
                None => Err(SystemException::bad_param(0, CompletionStatus::No)),
            },
            Abstract::Nil => Ok("nil".to_owned()),
        }
    }

    fn echo_value(&self, it: &Link<ValueBase>) -> Result<Link<ValueBase>> {
        Ok(it.clone())
    }

    rotate_borrowed! {
        rotate_node: Link<Node> => Link<Node>,
        rotate_base: Link<Base> => Link<Base>,
        rotate_whole: Link<Whole> => Link<Whole>,
        rotate_tag: Tag => Tag,
        rotate_either: Either => Either,
        rotate_printable: Abstract<PrintableRef> => Abstract<PrintableRef>,
    }

    fn described(&self, it: &Link<Whole>) -> Result<String> {
        described(it).ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }

    fn retype(&self, it: &Any) -> Result<Any> {
        let fresh = fresh_as!(
            it,
            &*self.orb,
            Link<Node>,
            Link<Known>,
            Link<Base>,
            Link<Form>,
            Link<Whole>,
            Link<Text>,
            Link<Tally>,
            Link<Spot>,
            Tag,
            Either,
            Nodes,
        );
        fresh
            .map_err(|_| SystemException::marshal(0, CompletionStatus::No))?
            .ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }

    fn far(&self) -> Result<Link<Base>> {
        Ok(Far::value())
    }
}
