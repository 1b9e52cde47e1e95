use core::fmt;

macro_rules! kinds {
    ($($number:literal $kind:ident $name:literal $text:literal;)*) => {
        /// The kinds of types: `CORBA::TCKind`, with the numbers of the wire (CORBA 3.3 part 2, 9.3.5.1).
        ///
        /// ```
        /// use oxorb_cdr::TcKind;
        ///
        /// assert_eq!(TcKind::Struct as u32, 15);
        /// assert_eq!(TcKind::from_number(15), Some(TcKind::Struct));
        /// assert_eq!(TcKind::from_number(37), None);
        /// assert_eq!(TcKind::Struct.to_string(), "tk_struct");
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u32)]
        pub enum TcKind {
            $(#[doc = concat!("`", $name, "`")] $kind = $number,)*
        }

        impl TcKind {
            /// List of all kinds, by number.
            pub const ALL: [Self; 37] = [$(Self::$kind),*];

            /// Returns the name in the specification: `tk_long`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Returns the IDL keyword or keywords of the kind: `unsigned long`.
            pub const fn idl(self) -> &'static str {
                match self {
                    $(Self::$kind => $text,)*
                }
            }
        }
    };
}

kinds! {
    0 Null "tk_null" "null";
    1 Void "tk_void" "void";
    2 Short "tk_short" "short";
    3 Long "tk_long" "long";
    4 Ushort "tk_ushort" "unsigned short";
    5 Ulong "tk_ulong" "unsigned long";
    6 Float "tk_float" "float";
    7 Double "tk_double" "double";
    8 Boolean "tk_boolean" "boolean";
    9 Char "tk_char" "char";
    10 Octet "tk_octet" "octet";
    11 Any "tk_any" "any";
    12 TypeCode "tk_TypeCode" "CORBA::TypeCode";
    13 Principal "tk_Principal" "CORBA::Principal";
    14 Objref "tk_objref" "interface";
    15 Struct "tk_struct" "struct";
    16 Union "tk_union" "union";
    17 Enum "tk_enum" "enum";
    18 String "tk_string" "string";
    19 Sequence "tk_sequence" "sequence";
    20 Array "tk_array" "array";
    21 Alias "tk_alias" "typedef";
    22 Except "tk_except" "exception";
    23 Longlong "tk_longlong" "long long";
    24 Ulonglong "tk_ulonglong" "unsigned long long";
    25 Longdouble "tk_longdouble" "long double";
    26 Wchar "tk_wchar" "wchar";
    27 Wstring "tk_wstring" "wstring";
    28 Fixed "tk_fixed" "fixed";
    29 Value "tk_value" "valuetype";
    30 ValueBox "tk_value_box" "valuetype";
    31 Native "tk_native" "native";
    32 AbstractInterface "tk_abstract_interface" "abstract interface";
    33 LocalInterface "tk_local_interface" "local interface";
    34 Component "tk_component" "component";
    35 Home "tk_home" "home";
    36 Event "tk_event" "eventtype";
}

impl TcKind {
    /// Returns the kind with this number on the wire.
    #[inline]
    pub const fn from_number(number: u32) -> Option<Self> {
        if number < Self::ALL.len() as u32 { Some(Self::ALL[number as usize]) } else { None }
    }

    /// Reports whether the kind completely defines a type.
    pub(crate) const fn is_simple(self) -> bool {
        matches!(self as u32, 0..=13 | 23..=26)
    }
}

impl fmt::Display for TcKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
