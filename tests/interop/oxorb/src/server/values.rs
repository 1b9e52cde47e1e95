//! Objects for `interop_values.idl`.

use oxorb::values::{Abstract, ValueBase, ValueLink, Valuetype};
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
    fn echo_node(&self, it: &ValueLink<Node>) -> Result<ValueLink<Node>> {
        Ok(it.clone())
    }

    fn echo_nodes(
        &self,
        all: &[ValueLink<Node>],
        one: &ValueLink<Node>,
    ) -> Result<(Nodes, ValueLink<Node>)> {
        Ok((all.to_vec(), one.clone()))
    }

    fn echo_base(&self, it: &ValueLink<Base>) -> Result<ValueLink<Base>> {
        Ok(it.clone())
    }

    fn name_of(&self, it: &ValueLink<Base>) -> Result<String> {
        Ok(name_of(it))
    }

    fn echo_text(
        &self,
        a: &ValueLink<Text>,
        b: &ValueLink<Text>,
    ) -> Result<(ValueLink<Text>, bool)> {
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

    fn echo_value(&self, it: &ValueLink<ValueBase>) -> Result<ValueLink<ValueBase>> {
        Ok(it.clone())
    }

    rotate_borrowed! {
        rotate_node: ValueLink<Node> => ValueLink<Node>,
        rotate_base: ValueLink<Base> => ValueLink<Base>,
        rotate_whole: ValueLink<Whole> => ValueLink<Whole>,
        rotate_tag: Tag => Tag,
        rotate_either: Either => Either,
        rotate_printable: Abstract<PrintableRef> => Abstract<PrintableRef>,
    }

    fn described(&self, it: &ValueLink<Whole>) -> Result<String> {
        described(it).ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }

    fn retype(&self, it: &Any) -> Result<Any> {
        let fresh = fresh_as!(
            it,
            &*self.orb,
            ValueLink<Node>,
            ValueLink<Known>,
            ValueLink<Base>,
            ValueLink<Form>,
            ValueLink<Whole>,
            ValueLink<Text>,
            ValueLink<Tally>,
            ValueLink<Spot>,
            Tag,
            Either,
            Nodes,
        );
        fresh
            .map_err(|_| SystemException::marshal(0, CompletionStatus::No))?
            .ok_or(SystemException::bad_param(0, CompletionStatus::No))
    }

    fn far(&self) -> Result<ValueLink<Base>> {
        Ok(Far::value())
    }
}
