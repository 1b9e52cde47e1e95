//! Parser of the declarations of packages.

use std::collections::{HashMap, HashSet};

use super::tokens::{Kind, Token};
use super::{ModelError, TextPosition};

/// Category of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    System,
    Process,
    ThreadGroup,
    Thread,
    Processor,
    VirtualProcessor,
    /// Categories that the import skips: data, buses, memory, devices, subprograms.
    Other,
}

/// Property with its value as written.
#[derive(Debug, Clone)]
pub(super) struct Property<'t> {
    /// Name in lower case, without its property set.
    pub(super) name: String,
    pub(super) value: &'t [Token<'t>],
    /// Subcomponents to which the property applies; empty: the component itself.
    pub(super) to: Vec<Vec<String>>,
    pub(super) place: TextPosition,
}

/// Component within an implementation.
#[derive(Debug, Clone)]
pub(super) struct Subcomponent<'t> {
    pub(super) name: String,
    pub(super) category: Category,
    /// Package and name of the classifier, both in lower case.
    pub(super) classifier: Option<(String, String)>,
    pub(super) properties: Vec<Property<'t>>,
    pub(super) place: TextPosition,
}

/// Type or implementation.
#[derive(Debug, Clone)]
pub(super) struct Component<'t> {
    pub(super) category: Category,
    pub(super) package: String,
    /// Name as written; `type.implementation` for implementations.
    pub(super) name: String,
    pub(super) is_implementation: bool,
    pub(super) subcomponents: Vec<Subcomponent<'t>>,
    /// Names of skipped subcomponents, in lower case.
    pub(super) others: HashSet<String>,
    /// Properties that are read or refused.
    pub(super) properties: Vec<Property<'t>>,
    pub(super) place: TextPosition,
}

/// All declarations, by package and name in lower case.
#[derive(Debug, Default)]
pub(super) struct Packages<'t> {
    pub(super) components: Vec<Component<'t>>,
    pub(super) names: HashMap<(String, String), usize>,
}

/// Words that begin a section of a component.
const SECTIONS: [&str; 9] = [
    "features",
    "subcomponents",
    "connections",
    "flows",
    "calls",
    "modes",
    "properties",
    "prototypes",
    "annex",
];

/// Adds the declarations of one text.
pub(super) fn read<'t>(
    tokens: &'t [Token<'t>],
    packages: &mut Packages<'t>,
) -> Result<(), ModelError> {
    let mut reader = Reader { tokens, at: 0, package: String::new() };
    while reader.peek().kind != Kind::End {
        if reader.take("package") {
            reader.package(packages)?;
        } else if reader.take("property") {
            reader.property_set()?;
        } else {
            return Err(reader.unexpected("package or property set"));
        }
    }
    Ok(())
}

struct Reader<'t> {
    tokens: &'t [Token<'t>],
    at: usize,
    package: String,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> &'t Token<'t> {
        // The last token is the end of the text. The parser gets it again if it reads beyond.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'t Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn take(&mut self, what: &str) -> bool {
        let found = self.peek().is(what);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, wanted: &str) -> ModelError {
        let found = self.peek();
        found.refuse(format!("expected {wanted} here, not {}", found.shown()))
    }

    fn expect(&mut self, what: &str) -> Result<(), ModelError> {
        match self.take(what) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("{what:?}"))),
        }
    }

    fn word(&mut self, wanted: &str) -> Result<&'t Token<'t>, ModelError> {
        match self.peek().kind {
            Kind::Word => Ok(self.next()),
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// Parses a name with its package: `a::b::c`, in two parts.
    fn qualified(&mut self, wanted: &str) -> Result<(Option<String>, String), ModelError> {
        let mut name = self.word(wanted)?.text.to_owned();
        let mut package: Option<String> = None;
        while self.take("::") {
            let before = std::mem::replace(&mut name, self.word(wanted)?.text.to_owned());
            package = Some(match package {
                Some(outer) => format!("{outer}::{before}"),
                None => before,
            });
        }
        if self.take(".") {
            name = format!("{name}.{}", self.word(wanted)?.text);
        }
        Ok((package, name))
    }

    fn package(&mut self, packages: &mut Packages<'t>) -> Result<(), ModelError> {
        let (outer, name) = self.qualified("the name of the package")?;
        self.package =
            outer.map_or(name.clone(), |outer| format!("{outer}::{name}")).to_ascii_lowercase();
        loop {
            let token = self.peek();
            if token.is("public") || token.is("private") {
                self.next();
            } else if token.is("with") {
                self.skip()?;
            } else if token.is("properties") {
                self.next();
                self.properties()?;
            } else if token.is("annex") {
                self.next();
                self.annex()?;
            } else if token.is("renames") {
                return Err(
                    token.refuse("renames is not supported: name the declaration in its package")
                );
            } else if token.is("end") {
                self.next();
                self.qualified("the name of the package")?;
                return self.expect(";");
            } else if token.kind == Kind::End {
                return Err(self.unexpected("\"end\" of the package"));
            } else {
                self.component(packages)?;
            }
        }
    }

    /// Skips a property set: none of its properties are read.
    fn property_set(&mut self) -> Result<(), ModelError> {
        self.expect("set")?;
        let name = self.word("the name of the property set")?;
        loop {
            let token = self.next();
            if token.kind == Kind::End {
                return Err(token.refuse(format!("the property set {} has no end", name.text)));
            }
            if token.is("end") && self.peek().is(name.text) {
                self.next();
                return self.expect(";");
            }
        }
    }

    fn category(&mut self) -> Result<Category, ModelError> {
        let token = self.word("a category of components")?;
        let second = |reader: &mut Self, what: &str| reader.take(what);
        Ok(match token.text.to_ascii_lowercase().as_str() {
            "system" => Category::System,
            "process" => Category::Process,
            "processor" => Category::Processor,
            "thread" if second(self, "group") => Category::ThreadGroup,
            "thread" => Category::Thread,
            "virtual" if second(self, "processor") => Category::VirtualProcessor,
            "virtual" => {
                self.expect("bus")?;
                Category::Other
            }
            "subprogram" | "feature" => {
                self.take("group");
                Category::Other
            }
            "data" | "bus" | "memory" | "device" => Category::Other,
            "abstract" => return Err(token.refuse("abstract components are not supported")),
            _ => {
                return Err(
                    token.refuse(format!("{} is not a category of components", token.shown()))
                );
            }
        })
    }

    fn component(&mut self, packages: &mut Packages<'t>) -> Result<(), ModelError> {
        let place = self.peek().place;
        let category = self.category()?;
        let is_implementation = self.take("implementation");
        let (_, name) = self.qualified("the name of the component")?;
        let extends = self.peek();
        if self.take("extends") {
            if category != Category::Other {
                return Err(extends.refuse(format!(
                    "extends is not supported: {name} has properties of another component"
                )));
            }
            self.qualified("the name of a component")?;
        }
        let mut component = Component {
            category,
            package: self.package.clone(),
            name,
            is_implementation,
            subcomponents: Vec::new(),
            others: HashSet::new(),
            properties: Vec::new(),
            place,
        };
        loop {
            let token = self.next();
            match token.text.to_ascii_lowercase().as_str() {
                _ if token.kind != Kind::Word => {
                    return Err(token.refuse(format!(
                        "a section or \"end\" is expected here, not {}",
                        token.shown()
                    )));
                }
                "end" => break,
                "features" => self.features(category)?,
                "subcomponents" => {
                    for part in self.subcomponents(category)? {
                        match part.category {
                            Category::Other => {
                                component.others.insert(part.name.to_ascii_lowercase());
                            }
                            _ => component.subcomponents.push(part),
                        }
                    }
                }
                "properties" => {
                    let all = self.properties()?.into_iter();
                    component.properties.extend(all.filter(|it| counts(&it.name)));
                }
                "annex" => self.annex()?,
                "modes" if category != Category::Other => {
                    return Err(
                        token.refuse("modes are not supported, because the running components would depend on them")
                    );
                }
                "prototypes" if category != Category::Other => {
                    return Err(token.refuse("prototypes are not supported"));
                }
                // These sections are skipped. Modes and prototypes get here only in skipped
                // categories of components.
                "connections" | "flows" | "calls" | "modes" | "prototypes" => self.section()?,
                "internal" | "processor" if self.take("features") => self.section()?,
                _ => {
                    return Err(token.refuse(format!(
                        "{} is not the beginning of a section of a component",
                        token.shown()
                    )));
                }
            }
        }
        self.qualified("the name of the component")?;
        self.expect(";")?;
        let key = (component.package.clone(), component.name.to_ascii_lowercase());
        if category != Category::Other
            && packages.names.insert(key, packages.components.len()).is_some()
        {
            let why = format!("{} is declared twice", component.name);
            return Err(ModelError { place, why });
        }
        if category != Category::Other {
            packages.components.push(component);
        }
        Ok(())
    }

    /// Skips an annex, which has a name and perhaps a body.
    fn annex(&mut self) -> Result<(), ModelError> {
        self.word("the name of the annex")?;
        match self.peek().kind {
            Kind::Annex => {
                self.next();
                self.expect(";")
            }
            _ => self.skip(),
        }
    }

    /// Reports whether a section or the component ends here.
    fn is_over(&self) -> bool {
        let token = self.peek();
        let names = SECTIONS.iter().any(|section| token.is(section));
        let later = self.tokens.get(self.at + 1);
        // A feature may have the name of a section. A colon after the name shows that a feature is
        // declared.
        let declares = later.is_some_and(|later| later.is(":"));
        let two = (token.is("internal") || token.is("processor"))
            && later.is_some_and(|later| later.is("features"));
        !declares && (names || two || token.is("end")) || token.kind == Kind::End
    }

    /// Skips a section.
    fn section(&mut self) -> Result<(), ModelError> {
        while !self.is_over() {
            self.skip()?;
        }
        Ok(())
    }

    /// Skips past the next `;` outside all brackets.
    fn skip(&mut self) -> Result<(), ModelError> {
        let begin = self.peek();
        let mut depth = 0usize;
        loop {
            let token = self.next();
            match token.text {
                _ if token.kind == Kind::End => {
                    return Err(begin.refuse("this declaration has no end"));
                }
                "{" | "(" | "[" if token.kind == Kind::Sign => depth += 1,
                "}" | ")" | "]" if token.kind == Kind::Sign => depth = depth.saturating_sub(1),
                ";" if token.kind == Kind::Sign && depth == 0 => return Ok(()),
                _ => {}
            }
        }
    }

    fn features(&mut self, category: Category) -> Result<(), ModelError> {
        while !self.is_over() {
            let begin = self.at;
            self.skip()?;
            let feature = &self.tokens[begin..self.at.min(self.tokens.len())];
            let access = feature.windows(3).find(|three| {
                (three[0].is("requires") || three[0].is("provides"))
                    && three[1].is("data")
                    && three[2].is("access")
            });
            if let (Some(access), Category::Thread | Category::ThreadGroup) = (access, category) {
                let why = "data access is not supported: threads that share data block each other; declare it as \
                           blocking";
                return Err(access[0].refuse(why));
            }
        }
        Ok(())
    }

    fn subcomponents(&mut self, within: Category) -> Result<Vec<Subcomponent<'t>>, ModelError> {
        let mut found = Vec::new();
        while !self.is_over() {
            if self.take("none") {
                self.expect(";")?;
                continue;
            }
            if within == Category::Other {
                self.skip()?;
                continue;
            }
            found.push(self.subcomponent()?);
        }
        Ok(found)
    }

    fn subcomponent(&mut self) -> Result<Subcomponent<'t>, ModelError> {
        let name = self.word("the name of a subcomponent")?;
        self.expect(":")?;
        if self.peek().is("refined") {
            return Err(self.peek().refuse("refined to is not supported"));
        }
        let category = self.category()?;
        let classifier = match self.peek().kind {
            Kind::Word if !self.peek().is("in") => {
                let (package, classifier) = self.qualified("a classifier")?;
                let package = package.unwrap_or_else(|| self.package.clone());
                Some((package.to_ascii_lowercase(), classifier.to_ascii_lowercase()))
            }
            _ => None,
        };
        let next = self.peek();
        if next.is("[") && category != Category::Other {
            return Err(next.refuse(format!("arrays are not supported: {} is an array", name.text)));
        }
        if category == Category::Other {
            self.skip()?;
            return Ok(Subcomponent {
                name: name.text.into(),
                category,
                classifier: None,
                properties: Vec::new(),
                place: name.place,
            });
        }
        let mut properties = Vec::new();
        if self.take("{") {
            while !self.take("}") {
                let property = self.property()?;
                if counts(&property.name) {
                    properties.push(property);
                }
            }
        }
        if self.peek().is("in") {
            return Err(self.peek().refuse(format!(
                "in modes is not supported: {} does not always exist",
                name.text
            )));
        }
        if self.peek().is("(") {
            return Err(self.peek().refuse("prototypes are not supported"));
        }
        self.expect(";")?;
        Ok(Subcomponent {
            name: name.text.into(),
            category,
            classifier,
            properties,
            place: name.place,
        })
    }

    fn properties(&mut self) -> Result<Vec<Property<'t>>, ModelError> {
        let mut found = Vec::new();
        while !self.is_over() {
            if self.take("none") {
                self.expect(";")?;
                continue;
            }
            found.push(self.property()?);
        }
        Ok(found)
    }

    /// Parses `Name => value applies to path, path;`.
    fn property(&mut self) -> Result<Property<'t>, ModelError> {
        let first = self.peek();
        let (_, name) = self.qualified("the name of a property")?;
        if !self.take("=>") && !self.take("+=>") {
            return Err(self.unexpected("\"=>\""));
        }
        self.take("constant");
        let begin = self.at;
        let mut depth = 0usize;
        loop {
            let token = self.peek();
            let outside = depth == 0;
            let ends = token.is(";") || token.is("applies") || token.is("in");
            match token.text {
                _ if token.kind == Kind::End => {
                    return Err(first.refuse(format!("{name} has no end")));
                }
                _ if outside && ends => break,
                "}" if token.kind == Kind::Sign && outside => return Err(self.unexpected("\";\"")),
                "{" | "(" | "[" if token.kind == Kind::Sign => depth += 1,
                "}" | ")" | "]" if token.kind == Kind::Sign => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.next();
        }
        let value = &self.tokens[begin..self.at];
        let mut to = Vec::new();
        if self.take("applies") {
            self.expect("to")?;
            loop {
                let mut path =
                    vec![self.word("the name of a subcomponent")?.text.to_ascii_lowercase()];
                while self.take(".") {
                    path.push(self.word("the name of a subcomponent")?.text.to_ascii_lowercase());
                }
                if self.peek().is("[") {
                    return Err(self.peek().refuse("arrays are not supported"));
                }
                to.push(path);
                if !self.take(",") {
                    break;
                }
            }
        }
        let name = name.to_ascii_lowercase();
        if self.peek().is("in") && is_read(&name) {
            return Err(self.peek().refuse(format!(
                "in modes and in binding are not supported: {name} would depend on them"
            )));
        }
        self.skip()?;
        Ok(Property { name, value, to, place: first.place })
    }
}

/// Names of properties that would change the timing and are refused.
pub(super) const REFUSED: [&str; 6] = [
    "time_slot",
    "recover_execution_time",
    "reference_processor",
    "process_swap_execution_time",
    "frame_period",
    "slot_time",
];

/// Reports whether a property is read or refused; all others are skipped.
fn counts(name: &str) -> bool {
    is_read(name) || REFUSED.contains(&name)
}

/// Reports whether a property is read.
pub(super) fn is_read(name: &str) -> bool {
    const READ: [&str; 10] = [
        "period",
        "deadline",
        "compute_deadline",
        "compute_execution_time",
        "dispatch_protocol",
        "dispatch_offset",
        "dispatch_jitter",
        "actual_processor_binding",
        "scheduling_protocol",
        "thread_swap_execution_time",
    ];
    READ.contains(&name)
}
