//! Recording of names for the index, if a run makes one.

use std::collections::HashMap;
use std::sync::Arc;

use super::Resolver;
use super::record::{Around, Declared, Meaning, Note, Record};
use super::scope::Entity;
use crate::ast::{Ident, Notes};
use crate::index::{Index, Occurrence, Symbol};
use crate::lex::MAX_NAME;
use crate::model::{DefId, DefKind};
use crate::source::Span;

impl Resolver<'_> {
    /// Begins a declaration: the following names are declared by the text `whole`. Returns the enclosing declaration,
    /// for [`Self::leave_declaration`].
    pub(super) fn enter_declaration(&mut self, whole: Span, notes: &Notes) -> Option<Around> {
        if !self.is_recording() {
            return None;
        }
        let record = self.record.as_mut()?;
        let around = Around { whole, doc: notes.doc() };
        Some(std::mem::replace(&mut record.around, around))
    }

    pub(super) fn leave_declaration(&mut self, outer: Option<Around>) {
        if let (Some(record), Some(outer)) = (&mut self.record, outer) {
            record.around = outer;
        }
    }

    /// Records that a name is declared in the open scope.
    pub(super) fn note_declaration(&mut self, name: &Ident, entity: Entity) {
        if !self.is_recording() {
            return;
        }
        let container =
            self.scopes.outwards(self.here).find_map(|scope| self.scopes.scope(scope).def);
        let meaning = match entity {
            Entity::Def(def) => Meaning::Def(def),
            _ => Meaning::Place(name.span),
        };
        self.note(name, meaning, Some((entity, container)));
    }

    /// Records the use of a name whose declaration is at `declared`.
    pub(super) fn note_use(&mut self, name: &Ident, entity: Entity, declared: Span) {
        if !self.is_recording() {
            return;
        }
        let meaning = match entity {
            // The declaration of a template's parameter is another one than that of the argument.
            Entity::Def(def) if self.model.def(def).span == declared => Meaning::Def(def),
            _ => Meaning::Place(declared),
        };
        self.note(name, meaning, None);
    }

    /// Records the use of a template's parameter within the list of parameters.
    pub(super) fn note_param_use(&mut self, name: &Ident, declared: Span) {
        if self.is_recording() {
            self.note(name, Meaning::Place(declared), None);
        }
    }

    /// Returns the index of all recorded names.
    pub(super) fn index(&self, record: &Record) -> Index {
        let mut symbols: Vec<Symbol> = Vec::new();
        let mut numbers: HashMap<(Span, &str), usize> = HashMap::new();
        for note in record.notes() {
            let Some(declared) = &note.declared else { continue };
            let place = self.meant(note);
            let number = match numbers.get(&place) {
                Some(number) => *number,
                None => {
                    symbols.push(self.symbol(note, declared));
                    numbers.insert(place, symbols.len() - 1);
                    symbols.len() - 1
                }
            };
            // A definition says more than the forward declarations before it.
            if note.span == place.0 {
                symbols[number].whole = declared.around.whole;
                if !declared.around.doc.is_empty() {
                    symbols[number].doc = Arc::clone(&declared.around.doc);
                }
            }
        }
        let mut occurrences = Vec::new();
        for note in record.notes() {
            if let Some(symbol) = numbers.get(&self.meant(note)) {
                occurrences.push(Occurrence {
                    span: note.span,
                    symbol: *symbol,
                    declares: note.declared.as_ref().map(|declared| declared.around.whole),
                    is_literal: note.is_literal,
                });
            }
        }
        Index::new(symbols, occurrences)
    }

    /// Reports whether names are recorded here: in instances of templates they are not, because the same text has a
    /// meaning in each instance.
    fn is_recording(&self) -> bool {
        self.record.is_some() && !self.templates.is_instantiating()
    }

    fn note(&mut self, name: &Ident, meaning: Meaning, declared: Option<(Entity, Option<DefId>)>) {
        let (span, is_literal) = self.place_of(name);
        let Some(record) = &mut self.record else { return };
        let declared = declared.map(|(entity, container)| Declared {
            entity,
            container,
            around: record.around.clone(),
        });
        record.add(Note { name: name.name.clone(), span, is_literal, meaning, declared });
    }

    /// Returns the place of a name, and whether the text there is the name. The names in a pragma have the span of the
    /// whole scoped name.
    fn place_of(&self, name: &Ident) -> (Span, bool) {
        let is_name =
            |text: &str| text == &*name.name || text.strip_prefix('_') == Some(&*name.name);
        let text = self.map.snippet(name.span);
        if is_name(text) {
            return (name.span, true);
        }
        let is_macro = self.map.expanded_from(name.span).is_some();
        if is_macro || text.len() > MAX_NAME {
            return (name.span, false);
        }
        let mut start = name.span.start;
        let mut found = Vec::new();
        for part in text.split("::") {
            let word = part.trim();
            if is_name(word) {
                let start = start + (part.len() - part.trim_start().len()) as u32;
                found.push(Span { start, end: start + word.len() as u32, ..name.span });
            }
            start += (part.len() + "::".len()) as u32;
        }
        match found[..] {
            [only] => (only, true),
            _ => (name.span, false),
        }
    }

    /// Returns the place of the definition that a note means, and its name there.
    fn meant<'n>(&'n self, note: &'n Note) -> (Span, &'n str) {
        match note.meaning {
            Meaning::Def(def) => {
                let def = self.model.def(def);
                (def.span, def.name.as_str())
            }
            Meaning::Place(span) => (span, &*note.name),
        }
    }

    fn symbol(&self, note: &Note, declared: &Declared) -> Symbol {
        let (span, name) = self.meant(note);
        let (scoped_name, repository_id) = match note.meaning {
            Meaning::Def(def) => {
                let id = self.model.holds(def).then(|| self.model.def(def).repository_id.clone());
                (self.model.def(def).scoped_name.clone(), id)
            }
            Meaning::Place(_) => match declared.container {
                Some(container) if declared.entity != Entity::Param => {
                    (format!("{}::{name}", self.model.def(container).scoped_name), None)
                }
                _ => (name.to_owned(), None),
            },
        };
        Symbol {
            name: name.to_owned(),
            scoped_name,
            what: self.what_declared(declared.entity),
            repository_id,
            doc: Arc::clone(&declared.around.doc),
            span,
            whole: declared.around.whole,
        }
    }

    /// Describes a kind as [`Self::what`] does. The kind of an erroneous definition may be unknown.
    fn what_declared(&self, entity: Entity) -> &'static str {
        match entity {
            Entity::Def(def)
                if !self.model.holds(def)
                    && matches!(self.model.def(def).kind, DefKind::Native) =>
            {
                "a declaration"
            }
            _ => self.what(entity),
        }
    }
}
