//! Operations and attributes as calls on the wire.

use std::borrow::Cow;

use oxorb_idl::model::{
    Annotation, Attribute, Basic, DefId, Direction, Export, Factory, Interface, InterfaceKind,
    Model, Operation, Param, Type, ValueType,
};

use oxorb_idl::source::Span;

use super::view::{is_copied, is_viewable};
use super::{NotYet, Plan};
use crate::extra::said;

/// Call of an operation, or of one half of an attribute.
#[derive(Debug, Clone)]
pub struct Call<'m> {
    /// Operation name in the Request header.
    pub wire_name: Cow<'m, str>,
    /// Name from which a back end derives its own name: `balance`, `set_balance`, `withdraw`.
    pub name: Cow<'m, str>,
    /// Whether the call is one half of an attribute, not an operation; an operation of the same name takes precedence.
    pub attribute: bool,
    /// Comment in the IDL.
    pub doc: &'m str,
    /// Whether there is no reply, not even an exception.
    pub oneway: bool,
    /// Return value.
    pub returns: Option<(&'m Type, Plan)>,
    /// Parameters of every direction, in order of declaration.
    pub args: Vec<Arg<'m>>,
    /// User exceptions, each once.
    pub raises: Vec<DefId>,
    /// Names in the `context` clause; empty without one.
    pub context: &'m [String],
    /// Whether the call is an operation of a valuetype that may change the state.
    pub mutating: bool,
}

/// Parameter of a call.
#[derive(Debug, Clone)]
pub struct Arg<'m> {
    /// Name as in IDL, without escape.
    pub name: &'m str,
    /// Direction of transfer.
    pub direction: Direction,
    /// Declared type.
    pub ty: &'m Type,
    /// Plan for the transfer.
    pub plan: Plan,
    /// Whether servants get a view whose parts are in the message and in an arena: an `in` parameter marked
    /// `@borrowed`.
    pub borrowed: bool,
}

impl<'m> Call<'m> {
    /// Returns the parameters that the request carries, in order.
    pub fn sent(&self) -> impl Iterator<Item = &Arg<'m>> {
        self.args.iter().filter(|arg| arg.direction != Direction::Out)
    }

    /// Returns the parameters that the reply carries after the return value, in order.
    pub fn received(&self) -> impl Iterator<Item = &Arg<'m>> {
        self.args.iter().filter(|arg| arg.direction != Direction::In)
    }

    /// Clears marks that only concern messages, for a call within a process.
    fn lend_nothing(&mut self) {
        self.args.iter_mut().for_each(|arg| arg.borrowed = false);
    }

    /// Reports whether the call is possible from outside the process: no parameter or result is of a local interface or
    /// native type.
    pub fn travels(&self, model: &Model) -> bool {
        let args = self.args.iter().map(|arg| &arg.plan);
        let mut plans = args.chain(self.returns.iter().map(|(_, plan)| plan));
        plans.all(|plan| plan.travels(model))
            && (self.raises.iter()).all(|id| Plan::Named(*id).travels(model))
    }
}

/// Returns the calls that an interface declares itself, in order. For an interface that is not local, calls that
/// [cannot travel](Call::travels) are left out.
pub fn calls<'m>(model: &'m Model, interface: &'m Interface) -> Result<Vec<Call<'m>>, NotYet> {
    let mut calls = declared(model, &interface.exports)?;
    if interface.kind != InterfaceKind::Local {
        calls.retain(|call| call.travels(model));
    } else {
        calls.iter_mut().for_each(Call::lend_nothing);
    }
    Ok(calls)
}

/// Returns all declared calls, whether they can travel or not.
pub(crate) fn declared<'m>(
    model: &'m Model,
    exports: &'m [Export],
) -> Result<Vec<Call<'m>>, NotYet> {
    let mut calls = Vec::new();
    for export in exports {
        match export {
            Export::Operation(operation) => calls.push(operation_call(model, operation)?),
            Export::Attribute(attribute) => {
                calls.push(getter(model, attribute)?);
                if !attribute.readonly {
                    calls.push(setter(model, attribute)?);
                }
            }
        }
    }
    Ok(calls)
}

/// Returns the operations and attributes that a valuetype declares itself, in order. They are local: any types are
/// allowed, nothing is marshalled, and they return results even if declared oneway.
pub fn value_calls<'m>(model: &'m Model, value: &'m ValueType) -> Result<Vec<Call<'m>>, NotYet> {
    let mut calls = declared(model, &value.exports)?;
    for call in &mut calls {
        call.oneway = false;
        call.lend_nothing();
    }
    Ok(calls)
}

/// Returns the factories of a valuetype, in order.
pub fn factory_calls<'m>(model: &'m Model, value: &'m ValueType) -> Result<Vec<Call<'m>>, NotYet> {
    let factories = value.factories.iter();
    factories.map(|one| factory_call(model, one)).collect()
}

fn factory_call<'m>(model: &'m Model, factory: &'m Factory) -> Result<Call<'m>, NotYet> {
    Ok(Call {
        wire_name: Cow::Borrowed(&factory.name),
        name: Cow::Borrowed(&factory.name),
        attribute: false,
        doc: &factory.doc,
        oneway: false,
        returns: None,
        args: args(model, &factory.params)?,
        raises: once(&factory.raises),
        context: &[],
        mutating: false,
    })
    .map(|mut call: Call<'m>| {
        call.lend_nothing();
        call
    })
}

fn args<'m>(model: &'m Model, params: &'m [Param]) -> Result<Vec<Arg<'m>>, NotYet> {
    let args = params.iter().map(|param| {
        let marked = is_in_place(&param.annotations);
        let plan = plan_at(model, &param.ty, marked, param.span)?;
        if plan == Plan::InPlace && param.direction == Direction::InOut {
            return Err(not_in_place(param.span));
        }
        let borrowed = said(&param.annotations, "borrowed") == Some(true);
        if borrowed && param.direction != Direction::In {
            let what = "`@borrowed` outside `in` parameters";
            return Err(NotYet::new(what).at(param.span));
        }
        if borrowed && !is_viewable(model, &plan) {
            let what =
                "`@borrowed` on a parameter with an any, type code, reference, value or map inside";
            return Err(NotYet::new(what).at(param.span));
        }
        Ok(Arg {
            name: &param.name,
            direction: param.direction,
            ty: &param.ty,
            borrowed: borrowed && is_copied(model, &plan),
            plan,
        })
    });
    args.collect()
}

fn returned<'m>(
    model: &'m Model,
    operation: &'m Operation,
) -> Result<Option<(&'m Type, Plan)>, NotYet> {
    let marked = is_in_place(&operation.annotations);
    match &operation.returns {
        None if marked => Err(not_in_place(operation.span)),
        None => Ok(None),
        Some(ty) => Ok(Some((ty, plan_at(model, ty, marked, operation.span)?))),
    }
}

/// Plan of parameters that may be marked `@in_place`.
const OCTETS: Plan = Plan::Block { element: Basic::Octet, bound: None };

fn is_in_place(annotations: &[Annotation]) -> bool {
    said(annotations, "in_place") == Some(true)
}

fn not_in_place(span: Span) -> NotYet {
    let what = "`@in_place` outside `in` and `out` parameters, return values and attributes of type `sequence<octet>`";
    NotYet::new(what).at(span)
}

fn operation_call<'m>(model: &'m Model, operation: &'m Operation) -> Result<Call<'m>, NotYet> {
    Ok(Call {
        wire_name: Cow::Borrowed(&operation.name),
        name: Cow::Borrowed(&operation.name),
        attribute: false,
        doc: &operation.doc,
        oneway: operation.oneway,
        returns: returned(model, operation)?,
        args: args(model, &operation.params)?,
        raises: once(&operation.raises),
        context: &operation.context,
        mutating: operation.mutating,
    })
}

fn getter<'m>(model: &'m Model, attribute: &'m Attribute) -> Result<Call<'m>, NotYet> {
    Ok(Call {
        wire_name: Cow::Owned(format!("_get_{}", attribute.name)),
        name: Cow::Borrowed(&attribute.name),
        attribute: true,
        doc: &attribute.doc,
        oneway: false,
        returns: Some((&attribute.ty, plan_of(model, attribute)?)),
        args: Vec::new(),
        raises: once(&attribute.get_raises),
        context: &[],
        mutating: false,
    })
}

fn setter<'m>(model: &'m Model, attribute: &'m Attribute) -> Result<Call<'m>, NotYet> {
    Ok(Call {
        wire_name: Cow::Owned(format!("_set_{}", attribute.name)),
        name: Cow::Owned(format!("set_{}", attribute.name)),
        attribute: true,
        doc: &attribute.doc,
        oneway: false,
        returns: None,
        args: vec![Arg {
            name: "value",
            direction: Direction::In,
            ty: &attribute.ty,
            plan: plan_of(model, attribute)?,
            borrowed: false,
        }],
        raises: once(&attribute.set_raises),
        context: &[],
        mutating: true,
    })
}

/// Returns the plan for the value of an attribute, in both directions.
fn plan_of(model: &Model, attribute: &Attribute) -> Result<Plan, NotYet> {
    let marked = is_in_place(&attribute.annotations);
    plan_at(model, &attribute.ty, marked, attribute.span)
}

/// Returns the plan for a value; `marked` states whether it is `@in_place`. The error contains the place of a type
/// without a plan.
fn plan_at(model: &Model, ty: &Type, marked: bool, place: Span) -> Result<Plan, NotYet> {
    match Plan::of(model, ty).map_err(|not_yet| not_yet.at(place))? {
        plan if !marked => Ok(plan),
        OCTETS => Ok(Plan::InPlace),
        _ => Err(not_in_place(place)),
    }
}

/// Returns the ids without repetition (`raises(E, ::M::E)` is legal).
fn once(ids: &[DefId]) -> Vec<DefId> {
    let mut seen = Vec::new();
    for id in ids {
        if !seen.contains(id) {
            seen.push(*id);
        }
    }
    seen
}
