//! Values of attributes as expressions of Rust.

use oxorb_deploy::Finding;
use oxorb_deploy::value::{Any, Basic, Data, Type};

use super::names;

/// Returns the argument for an attribute's set method. `types` is the path of the types of IDL.
///
/// # Errors
/// A type whose Rust name does not follow from the plan.
pub(super) fn argument(value: &Any, types: &str) -> Result<String, Finding> {
    let writer = Writer { value, types };
    let kind = resolved(&value.kind);
    match (kind, &value.data) {
        (Type::Basic(Basic::Objref), Data::Text(url)) => {
            Ok(format!("Some(&resolve(&orb, {url:?})?)"))
        }
        (Type::Basic(Basic::String | Basic::WString) | Type::Bounded { .. }, Data::Text(text)) => {
            Ok(format!("{text:?}"))
        }
        (Type::Struct { .. } | Type::Array { .. }, data) => {
            Ok(format!("&{}", writer.owned(kind, data)?))
        }
        (Type::Sequence { element, .. }, Data::Sequence(items)) => {
            Ok(format!("&[{}]", writer.all(element, items)?))
        }
        (kind, data) => writer.owned(kind, data),
    }
}

fn resolved(mut kind: &Type) -> &Type {
    while let Type::Alias { element, .. } = kind {
        kind = element;
    }
    kind
}

struct Writer<'a> {
    value: &'a Any,
    types: &'a str,
}

impl Writer<'_> {
    fn wrong(&self, what: impl Into<String>) -> Finding {
        let cure = "make it the default in the executor, or launch the plan instead";
        Finding::error(self.value.place, what).cure(cure)
    }

    fn named(&self, type_id: &str) -> Result<String, Finding> {
        let name = names::scoped_name(type_id);
        let path = name.and_then(|name| names::item(self.types, &name, ""));
        path.ok_or_else(|| {
            self.wrong(format!(
                "the type {type_id:?} has no path in Rust: expected IDL:MODULE/NAME:VERSION"
            ))
        })
    }

    /// Returns an expression for an owned value.
    fn owned(&self, kind: &Type, data: &Data) -> Result<String, Finding> {
        Ok(match (resolved(kind), data) {
            (Type::Basic(basic) | Type::Bounded { basic, .. }, data) => self.basic(*basic, data)?,
            (Type::Enum { type_id, .. }, Data::Enum(name)) => {
                let variant = names::enumerator(name);
                let variant =
                    variant.ok_or_else(|| self.wrong(format!("{name:?} is not a name")))?;
                format!("{}::{variant}", self.named(type_id)?)
            }
            (Type::Struct { type_id, members, .. }, Data::Struct(items)) => {
                let mut fields = Vec::new();
                for ((name, kind), item) in members.iter().zip(items) {
                    let field = names::method(name);
                    let field =
                        field.ok_or_else(|| self.wrong(format!("{name:?} is not a name")))?;
                    fields.push(format!("{field}: {}", self.owned(kind, item)?));
                }
                format!("{} {{ {} }}", self.named(type_id)?, fields.join(", "))
            }
            (Type::Sequence { element, .. }, Data::Sequence(items)) => {
                format!("vec![{}]", self.all(element, items)?)
            }
            (Type::Array { element, .. }, Data::Sequence(items)) => {
                format!("[{}]", self.all(element, items)?)
            }
            _ => return Err(self.wrong("the property has no value")),
        })
    }

    fn all(&self, element: &Type, items: &[Data]) -> Result<String, Finding> {
        let items = items.iter().map(|item| self.owned(element, item));
        Ok(items.collect::<Result<Vec<_>, _>>()?.join(", "))
    }

    fn basic(&self, basic: Basic, data: &Data) -> Result<String, Finding> {
        let suffix = match basic {
            Basic::Short => "i16",
            Basic::Long => "i32",
            Basic::LongLong => "i64",
            Basic::UShort => "u16",
            Basic::ULong => "u32",
            Basic::ULongLong => "u64",
            Basic::Octet => "u8",
            _ => "",
        };
        Ok(match (basic, data) {
            (_, Data::Integer(number)) => format!("{number}_{suffix}"),
            (_, Data::Unsigned(number)) => format!("{number}_{suffix}"),
            (_, Data::Float(number)) if number.is_finite() => format!("{number:?}_f32"),
            (_, Data::Double(number)) if number.is_finite() => format!("{number:?}_f64"),
            (_, Data::Float(number)) => special((*number).into(), "f32"),
            (_, Data::Double(number)) => special(*number, "f64"),
            (_, Data::Boolean(value)) => value.to_string(),
            (Basic::Char | Basic::WChar, Data::Text(text)) if text.chars().count() == 1 => {
                format!("{:?}", text.chars().next().unwrap_or_default())
            }
            (Basic::String | Basic::WString, Data::Text(text)) => format!("{text:?}.to_owned()"),
            (Basic::LongDouble, _) => {
                return Err(
                    self.wrong("a long double has more digits than any number type of Rust")
                );
            }
            (Basic::Objref, _) => {
                return Err(self.wrong("references within other values cannot be generated"));
            }
            _ => return Err(self.wrong("the property has no value")),
        })
    }
}

/// Returns the expression for a number without digits (infinity or NaN).
fn special(number: f64, of: &str) -> String {
    let name = match number {
        _ if number.is_nan() => "NAN",
        _ if number > 0.0 => "INFINITY",
        _ => "NEG_INFINITY",
    };
    format!("{of}::{name}")
}

#[cfg(test)]
mod tests {
    use oxorb_deploy::{Document, Format, Limits};

    fn written(value: &str) -> String {
        let text = format!(
            "[[implementation]]\nname = \"I\"\n[[instance]]\nname = \"a\"\nimplementation = \"I\"\n\
             [instance.configProperty]\nx = {value}\n"
        );
        let plan = Document::read(&text, Format::Toml, &Limits::default())
            .and_then(Document::into_plan)
            .unwrap_or_else(|error| panic!("{value}: {error}"));
        let value = &plan.instance[0].config_property[0].value;
        super::argument(value, "display").unwrap_or_else(|finding| finding.to_string())
    }

    #[test]
    fn values_are_literals() {
        for (value, rust) in [
            ("20", "20_i32"),
            ("{ ulong = 20 }", "20_u32"),
            ("{ short = -7 }", "-7_i16"),
            ("{ octet = 255 }", "255_u8"),
            ("{ ulonglong = 7 }", "7_u64"),
            ("0.1", "0.1_f64"),
            ("1e300", "1e300_f64"),
            ("inf", "f64::INFINITY"),
            ("-inf", "f64::NEG_INFINITY"),
            ("{ float = 0.5 }", "0.5_f32"),
            ("true", "true"),
            ("{ char = \"'\" }", "'\\''"),
            ("\"navigation\"", "\"navigation\""),
            ("{ objref = \"corbaloc:a\" }", "Some(&resolve(&orb, \"corbaloc:a\")?)"),
        ] {
            assert_eq!(written(value), rust, "{value}");
        }
    }

    #[test]
    fn texts_stay_texts() {
        for (value, rust) in [
            (r#""\"); std::process::exit(3); //""#, r#""\"); std::process::exit(3); //""#),
            (r#""a\nb\\""#, r#""a\nb\\""#),
            (r#""\u202Egnp""#, r#""\u{202e}gnp""#),
        ] {
            assert_eq!(written(value), rust);
        }
    }

    #[test]
    fn enumerations_structs_and_sequences_have_their_paths() {
        let side = "{ kind = \"tk_enum\", enum = { name = \"Side\", typeId = \"IDL:Avionics/Side:1.0\", \
                    member = [\"PORT_SIDE\", \"STARBOARD\"] } }";
        assert_eq!(
            written(&format!("{{ type = {side}, value = {{ enum = \"PORT_SIDE\" }} }}")),
            "display::avionics::Side::PortSide"
        );
        let list = "{ type = { kind = \"tk_sequence\", sequence = { elementType = { kind = \"tk_string\" } } }, \
                    value = { string = [\"a\", \"b\"] } }";
        assert_eq!(written(list), "&[\"a\".to_owned(), \"b\".to_owned()]");
        let place = "{ type = { kind = \"tk_struct\", struct = { name = \"Place\", typeId = \"IDL:Avionics/Place:1.0\", \
                     member = [{ name = \"type\", type = { kind = \"tk_long\" } }] } }, \
                     value = { member = [{ name = \"type\", value = { long = 4 } }] } }";
        assert_eq!(written(place), "&display::avionics::Place { r#type: 4_i32 }");
        let nowhere = place.replace("IDL:Avionics/Place:1.0", "IDL:x{}/Place:1.0");
        let told = written(&nowhere);
        assert!(told.contains("has no path in Rust"), "{told}");
    }
}
