//! Mapping filters, in which each constraint has a value.

use std::sync::Arc;

use crate::etcl::Subject;
use crate::etcl::event_type::EventType;
use oxorb::Any;
use oxorb::values::TypeCode;

use super::FilterObject;
use super::object::{List, One, TYPED};
use crate::cos_notification::{Property, StructuredEvent};
use crate::cos_notify_filter::mapping_filter::{
    AddMappingConstraintsError, GetMappingConstraintsError, MatchError, MatchStructuredError,
    MatchTypedError, ModifyMappingConstraintsError,
};
use crate::cos_notify_filter::{
    ConstraintExp, ConstraintId, InvalidValue, MappingConstraintInfo, MappingConstraintPair,
    MappingFilter,
};
use crate::event::{self, Lent};

impl FilterObject {
    fn default_or_null(&self) -> Any {
        self.default.clone().unwrap_or_default()
    }

    fn check_value(&self, constr: &ConstraintExp, value: &Any) -> Result<(), InvalidValue> {
        let wanted = self.default_or_null();
        match value.type_code().equivalent(wanted.type_code()) {
            true => Ok(()),
            false => Err(InvalidValue { constr: constr.clone(), value: value.clone() }),
        }
    }

    fn mapped(&self, of: EventType<'_>, subject: Subject<'_>) -> (bool, Any) {
        match self.first(of, subject) {
            Some(one) => (true, one.value.clone()),
            None => (false, self.default_or_null()),
        }
    }
}

impl MappingFilter for FilterObject {
    fn constraint_grammar(&self) -> oxorb::Result<String> {
        Ok(self.grammar().name().to_owned())
    }

    fn value_type(&self) -> oxorb::Result<TypeCode> {
        Ok(self.default_or_null().type_code().clone())
    }

    fn default_value(&self) -> oxorb::Result<Any> {
        Ok(self.default_or_null())
    }

    fn add_mapping_constraints(
        &self,
        pair_list: &[MappingConstraintPair],
    ) -> Result<Vec<MappingConstraintInfo>, AddMappingConstraintsError> {
        self.admit(pair_list)?;
        self.change(|held| {
            let mut added = Vec::new();
            for pair in pair_list {
                let written = &pair.constraint_expression;
                self.check_value(written, &pair.result_to_set)?;
                let value = pair.result_to_set.clone();
                let one = self.parse::<AddMappingConstraintsError>(held.next()?, written, value)?;
                added.push(one.mapping_info());
                held.constraints.push(Arc::new(one));
            }
            Ok(added)
        })
    }

    fn modify_mapping_constraints(
        &self,
        del_list: &[ConstraintId],
        modify_list: &[MappingConstraintInfo],
    ) -> Result<(), ModifyMappingConstraintsError> {
        self.admit(del_list)?;
        self.admit(modify_list)?;
        self.change(|held| {
            let mut parsed: Vec<One> = Vec::new();
            for info in modify_list {
                held.place(info.constraint_id)?;
                let written = &info.constraint_expression;
                self.check_value(written, &info.value)?;
                let (id, value) = (info.constraint_id, info.value.clone());
                parsed.push(self.parse::<ModifyMappingConstraintsError>(id, written, value)?);
            }
            Ok(held.modify(del_list, parsed)?)
        })
    }

    fn get_mapping_constraints(
        &self,
        id_list: &[ConstraintId],
    ) -> Result<Vec<MappingConstraintInfo>, GetMappingConstraintsError> {
        self.admit(id_list)?;
        let held = self.held();
        let infos = id_list.iter();
        infos.map(|&id| Ok(held.constraints[held.place(id)?].mapping_info())).collect()
    }

    fn get_all_mapping_constraints(&self) -> oxorb::Result<Vec<MappingConstraintInfo>> {
        let held = self.held();
        Ok(held.constraints.iter().map(|one| one.mapping_info()).collect())
    }

    fn remove_all_mapping_constraints(&self) -> oxorb::Result<()> {
        self.change(|held| {
            held.constraints.clear();
            Ok(())
        })
    }

    fn destroy(&self) -> oxorb::Result<()> {
        self.end()
    }

    fn r#match(&self, filterable_data: &Any) -> Result<(bool, Any), MatchError> {
        Ok(self.mapped(EventType::new("", "%ANY"), Subject::Any(filterable_data)))
    }

    fn match_structured(
        &self,
        event: &StructuredEvent,
    ) -> Result<(bool, Any), MatchStructuredError> {
        let of = event::event_type(&event.header.fixed_header.event_type);
        Ok(self.mapped(of, Subject::Structured(&Lent(event))))
    }

    fn match_typed(&self, filterable_data: &[Property]) -> Result<(bool, Any), MatchTypedError> {
        Ok(self.mapped(TYPED, Subject::Properties(&List(filterable_data))))
    }
}
