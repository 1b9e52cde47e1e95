//! Names of all checks, and the rules by which some do not apply.

use super::matrix::{Cell, Column};
use super::orb::Orb;

/// Subject of each group of checks, and their names. A client must report each of them, or it must be listed in
/// [`not_applicable`]: nothing is skipped silently.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    (
        "Basic types",
        &[
            "boolean",
            "octet",
            "short",
            "ushort",
            "long",
            "ulong",
            "longlong",
            "ulonglong",
            "float",
            "double",
            "long_double",
            "mixed_parameters",
            "constants",
        ],
    ),
    (
        "Characters",
        &[
            "char",
            "char_latin1",
            "string",
            "string_empty",
            "string_latin1",
            "string_beyond_latin1",
            "string_bounded",
            "string_too_long",
            "string_sequence",
            "string_bounded_sequence",
        ],
    ),
    (
        "Wide characters",
        &[
            "wchar",
            "wchar_beyond_latin1",
            "wstring",
            "wstring_empty",
            "wstring_beyond_bmp",
            "wstring_bounded",
            "wstring_sequence",
            "wchar_sequence",
            "wide_struct",
            "wide_union",
            "wide_constants",
        ],
    ),
    (
        "Constructed types",
        &[
            "enum",
            "typedef",
            "struct",
            "struct_nested",
            "struct_recursive",
            "struct_reserved_words",
            "array",
            "array_of_arrays",
            "array_of_strings",
            "array_of_structs",
        ],
    ),
    (
        "Unions",
        &[
            "union_short",
            "union_ushort",
            "union_long",
            "union_ulong",
            "union_longlong",
            "union_ulonglong",
            "union_char",
            "union_boolean",
            "union_enum",
            "union_enum_middle",
            "union_nested",
            "union_sequence",
            "union_no_member",
            "union_default_label",
            "union_far_labels",
        ],
    ),
    (
        "Sequences",
        &[
            "sequence_octet",
            "sequence_boolean",
            "sequence_char",
            "sequence_short",
            "sequence_ushort",
            "sequence_long",
            "sequence_ulong",
            "sequence_longlong",
            "sequence_ulonglong",
            "sequence_float",
            "sequence_double",
            "sequence_enum",
            "sequence_struct",
            "sequence_record",
            "sequence_of_sequences",
            "sequence_of_arrays",
            "sequence_bounded",
            "sequence_bounded_string",
            "sequence_too_long",
        ],
    ),
    (
        "Any",
        &[
            "any_empty",
            "any_integers",
            "any_floats",
            "any_long_double",
            "any_boolean_char",
            "any_string",
            "any_string_named",
            "any_string_bounded",
            "any_wide",
            "any_wide_named",
            "any_wide_bounded",
            "any_wide_struct",
            "any_enum",
            "any_typedef",
            "any_struct",
            "any_recursive",
            "any_recursive_sequence",
            "any_union",
            "any_union_no_member",
            "any_union_longlong",
            "any_sequence",
            "any_array",
            "any_exception",
            "any_reference",
            "any_reference_nil",
            "any_any",
            "any_typecode",
            "any_fixed",
            "any_sequence_of_any",
            "any_array_of_any",
            "any_in_struct",
            "any_in_union",
            "any_in_exception",
        ],
    ),
    (
        "DynAny",
        &[
            "dynany_integers",
            "dynany_floats",
            "dynany_long_double",
            "dynany_boolean_char",
            "dynany_string",
            "dynany_string_named",
            "dynany_string_bounded",
            "dynany_wide",
            "dynany_wide_named",
            "dynany_wide_bounded",
            "dynany_wide_struct",
            "dynany_enum",
            "dynany_typedef",
            "dynany_struct",
            "dynany_recursive",
            "dynany_recursive_sequence",
            "dynany_union",
            "dynany_union_no_member",
            "dynany_union_longlong",
            "dynany_sequence",
            "dynany_array",
            "dynany_exception",
            "dynany_reference",
            "dynany_reference_nil",
            "dynany_any",
            "dynany_typecode",
            "dynany_fixed",
        ],
    ),
    (
        "Valuetypes",
        &[
            "value_null",
            "value_sharing",
            "value_cycle",
            "value_list",
            "value_in_two_parameters",
            "value_derived",
            "value_truncated_by_server",
            "value_truncated_by_client",
            "value_boxed",
            "value_base",
            "value_custom",
            "value_rotated",
            "value_whole",
            "value_in_struct",
            "value_in_union",
            "abstract_object",
            "abstract_value",
            "abstract_rotated",
            "any_value",
            "any_value_derived",
            "any_value_boxed",
            "any_value_whole",
            "any_value_in_struct",
        ],
    ),
    (
        "Type codes",
        &[
            "typecode_basic",
            "typecode_constructed",
            "typecode_sequence",
            "typecode_of_any",
            "typecode_of_peer",
        ],
    ),
    (
        "Fixed point",
        &[
            "fixed",
            "fixed_fraction",
            "fixed_longest",
            "fixed_zeros",
            "fixed_sequence",
            "fixed_in_struct",
        ],
    ),
    (
        "Large messages",
        &[
            "large_octets",
            "large_doubles",
            "large_structs",
            "large_strings",
            "large_string",
            "large_oneway",
        ],
    ),
    (
        "Attributes, oneway, context",
        &[
            "attribute_long",
            "attribute_string",
            "attribute_enum",
            "attribute_struct",
            "attribute_readonly",
            "attribute_may_raise",
            "attribute_raises",
            "oneway",
            "context",
        ],
    ),
    ("Inheritance", &["inherited_operations", "is_a", "narrow", "narrow_refused"]),
    (
        "Exceptions",
        &[
            "user_exception_none",
            "user_exception_empty",
            "user_exception_members",
            "user_exception_union",
            "user_exception_void",
            "user_exception_out",
            "system_exception",
            "system_exception_minor",
            "system_exception_completion",
            "unknown_operation",
            "object_not_exist",
        ],
    ),
    (
        "References",
        &[
            "reference",
            "reference_nil",
            "reference_object",
            "reference_equivalent",
            "reference_sequence",
            "reference_in_struct",
            "reference_stringified",
            "reference_corbaloc",
            "reference_by_name",
            "non_existent",
            "location_forward",
        ],
    ),
    (
        "Policies",
        &[
            "oneway_with_server",
            "oneway_with_target",
            "call_timeout",
            "call_timeout_shared",
            "call_deadline",
        ],
    ),
    (
        "Callbacks and threads",
        &[
            "callback",
            "callback_exception",
            "callback_nested",
            "callback_oneway",
            "idle_connection",
            "parallel",
            "many_requests",
        ],
    ),
    (
        "Asynchronous calls and servants",
        &[
            "later_results",
            "later_order",
            "later_user_exception",
            "later_system_exception",
            "later_attributes",
            "async_callback",
            "async_callback_user_exception",
            "async_callback_system_exception",
            "async_callback_attributes",
            "async_future",
            "async_polling",
            "async_remote_handler",
            "async_remote_handler_attributes",
            "async_exception_holder",
        ],
    ),
];

/// Returns all names, in the order of the report.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, names)| names.iter().copied())
}

/// Returns why this check cannot apply to this pair in this column, if so.
pub(super) fn not_applicable(check: &str, cell: &Cell) -> Option<&'static str> {
    RULES.iter().find(|rule| rule.covers(check) && (rule.when)(cell)).map(|rule| rule.reason)
}

/// Limitation of a version or of a peer (observed with omniORB 4.2.5 and JacORB 3.9).
struct Rule {
    /// Names of checks; a trailing `*` matches any ending, a leading one any beginning.
    checks: &'static [&'static str],
    when: fn(&Cell) -> bool,
    reason: &'static str,
}

impl Rule {
    fn covers(&self, check: &str) -> bool {
        self.checks.iter().any(|name| match (name.strip_suffix('*'), name.strip_prefix('*')) {
            (Some(start), _) => check.starts_with(start),
            (_, Some(end)) => check.ends_with(end),
            _ => *name == check,
        })
    }
}

const WIDE: &[&str] = &["wchar*", "wstring*", "wide_*", "any_wide*", "dynany_wide*"];

const RULES: &[Rule] = &[
    Rule {
        checks: &["oneway_with_server", "oneway_with_target", "call_timeout", "call_deadline"],
        when: |c| c.client == Orb::Omni,
        reason: "omniORB does not implement the policies of CORBA Messaging",
    },
    Rule {
        checks: &["oneway_with_server", "oneway_with_target"],
        when: |c| {
            let before_1_2 = [Column::Giop10, Column::Giop11].contains(&c.column);
            c.client == Orb::Jac && before_1_2
        },
        reason: "a oneway request of GIOP 1.0 or 1.1 cannot request a reply, but JacORB waits for one without a limit",
    },
    Rule {
        checks: &["reference_corbaloc", "reference_by_name"],
        when: |c| c.column == Column::Unix,
        reason: "the URL contains a port, but omniORB's UNIX sockets have none",
    },
    Rule {
        checks: &["async_*"],
        when: |c| c.client == Orb::Omni,
        reason: "omniORB has no asynchronous calls",
    },
    Rule {
        checks: &["async_future", "async_polling"],
        when: |c| c.client == Orb::Jac,
        reason: "JacORB generates neither futures nor pollers",
    },
    Rule {
        checks: &["async_remote_handler*"],
        when: |c| c.client == Orb::Jac,
        reason: "JacORB calls only reply handlers in its own process",
    },
    Rule {
        checks: &["async_remote_handler*", "async_exception_holder"],
        when: |c| c.server == Orb::Omni,
        reason: "omniORB has no reply handlers",
    },
    Rule {
        checks: &["async_remote_handler_attributes"],
        when: |c| c.server == Orb::Jac,
        reason: "JacORB's reply handlers use other names of attribute operations (_get_level) than CORBA (get_level)",
    },
    Rule {
        checks: &["async_exception_holder"],
        when: |c| c.client == Orb::Ox,
        reason: "the check sends an exception holder of JacORB to other ORBs; `async_remote_handler` covers OxORB's holders",
    },
    Rule {
        checks: WIDE,
        when: |c| c.column == Column::Giop10,
        reason: "GIOP 1.0 has no wide characters",
    },
    Rule {
        checks: WIDE,
        when: |c| c.column == Column::Giop11 && c.has(Orb::Omni),
        reason: "omniORB negotiates wide characters only in GIOP 1.2",
    },
    Rule {
        checks: &["wide_struct", "*any_wide_struct"],
        when: |c| c.column == Column::Giop11 && c.has(Orb::Jac),
        reason: "JacORB does not align a wchar after an octet in GIOP 1.1",
    },
    Rule {
        checks: &["large_*"],
        when: |c| c.column == Column::Giop11 && c.has(Orb::Omni) && c.has(Orb::Jac),
        reason: "omniORB fragments large messages, but JacORB does not accept fragments of GIOP 1.1",
    },
    Rule {
        checks: &["string_beyond_latin1"],
        when: |c| {
            let latin = [Column::Giop10, Column::Latin1].contains(&c.column);
            c.column != Column::Utf8 && (latin || c.has(Orb::Omni) || c.has(Orb::Jac))
        },
        reason: "ISO 8859-1 is the code set of this column",
    },
    Rule {
        checks: &["call_timeout_shared", "many_requests", "reference_equivalent"],
        when: |c| c.client != Orb::Ox,
        reason: "the check tests OxORB's client only",
    },
    Rule {
        checks: &["char_latin1"],
        // The two agree on UTF-8: OxORB's own code set, to which omniORB can convert.
        when: |c| {
            ![Column::Giop10, Column::Latin1].contains(&c.column)
                && (c.column == Column::Utf8 || (c.server == Orb::Ox && c.client != Orb::Jac))
        },
        reason: "such a character takes two octets in UTF-8, but a char has one octet",
    },
    Rule {
        checks: &["union_no_member", "union_default_label", "*any_union_no_member"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB does not preserve which label selected the default member",
    },
    Rule {
        checks: &["long_double", "*any_long_double", "union_far_labels", "context"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB has no long double and no labels wider than long, and sends no context",
    },
    Rule {
        checks: &["*any_string_bounded", "*any_wide_bounded"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB loses the bound of a string in an any, unless a typedef names the string type",
    },
    Rule {
        checks: &["dynany_string_named", "dynany_wide_named"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB's DynAny loses the typedef of a type, and with it the bound of a string",
    },
    Rule {
        checks: &["dynany_fixed"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB's DynAnyFactory creates no fixed, because its initial value is zero, which JacORB cannot read",
    },
    Rule {
        checks: &["*any_recursive_sequence"],
        when: |c| c.has(Orb::Omni) && c.has(Orb::Jac),
        reason: "JacORB raises BAD_INV_ORDER for omniORB's type code, which contains an indirection to the sequence's typedef",
    },
    Rule {
        checks: &["*any_exception"],
        when: |c| c.has(Orb::Omni),
        reason: "omniORB omits the repository id of an exception in an any, and raises MARSHAL if it receives one",
    },
    Rule {
        checks: &["*any_reference_nil"],
        when: |c| c.has(Orb::Omni),
        reason: "omniORB's assertion fails for a nil reference in an any",
    },
    Rule {
        checks: &["*any_union_longlong"],
        when: |c| c.has(Orb::Jac) && c.client != c.server,
        reason: "JacORB and other ORBs raise MARSHAL for each other's anys with such a union, although the type code is correct",
    },
    Rule {
        checks: &["fixed_zeros"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB omits the leading zeros of a fixed, and cannot read zero",
    },
    Rule {
        checks: &["any_value_whole", "any_value_in_struct"],
        when: |c| c.has(Orb::Omni),
        reason: "omniORB raises BAD_TYPECODE for its own type code of a type that contains a recursive valuetype",
    },
    Rule {
        checks: &["any_value_boxed"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB writes a boxed value in an any as a Java object (RMI:java.lang.String), which it cannot read",
    },
    Rule {
        checks: &["any_value_derived"],
        when: |c| c.has(Orb::Jac),
        reason: "JacORB's type code of a derived valuetype lacks its base, inherited members and truncatable modifier",
    },
    Rule {
        checks: &["any_value*"],
        when: |c| c.has(Orb::Omni) && c.has(Orb::Jac),
        reason: "omniORB omits the repository id of a value in an any, and JacORB requires it",
    },
    Rule {
        checks: &["value_custom"],
        when: |c| c.has(Orb::Omni),
        reason: "omniidl generates no C++ for custom valuetypes",
    },
    Rule {
        checks: &["idle_connection"],
        when: |c| c.server != Orb::Omni || c.column != Column::Giop12,
        reason: "only omniORB is configured to close idle connections, in one column",
    },
    Rule {
        checks: &["attribute_may_raise", "attribute_raises"],
        when: |c| c.has(Orb::Omni),
        reason: "omniidl does not support attributes that raise exceptions",
    },
    Rule {
        checks: &["attribute_raises"],
        when: |c| c.client == Orb::Jac,
        reason: "JacORB's stubs close the reply before they read an exception of an attribute",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_covers_a_check() {
        for rule in RULES {
            assert!(names().any(|name| rule.covers(name)), "{:?}", rule.checks);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut all: Vec<_> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
