//! Keywords of IDL 2, 3, 3.5 and 4.

macro_rules! keywords {
    ($($name:ident $text:literal $class:ident,)+) => {
        /// Keyword of IDL.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Keyword {
            $(#[doc = concat!("`", $text, "`")] $name,)+
        }

        impl Keyword {
            /// All keywords, in alphabetical order.
            pub const ALL: &'static [Keyword] = &[$(Keyword::$name,)+];

            /// Returns the keyword as written; keywords are case-sensitive.
            pub fn as_str(self) -> &'static str {
                match self { $(Keyword::$name => $text,)+ }
            }

            /// Reports whether the keyword may also be a name: words added by CORBA 3 (`component`, `port`) or IDL 4
            /// (`map`, `int8`), which older IDL uses as names.
            pub fn is_contextual(self) -> bool {
                match self { $(Keyword::$name => matches!(Class::$class, Class::Contextual),)+ }
            }

            /// Returns the keyword with exactly this spelling.
            pub(crate) fn from_text(text: &str) -> Option<Keyword> {
                match text { $($text => Some(Keyword::$name),)+ _ => None }
            }
        }
    };
}

enum Class {
    Contextual,
    Reserved,
}

keywords! {
    Abstract "abstract" Reserved,
    Alias "alias" Contextual,
    Any "any" Reserved,
    Attribute "attribute" Reserved,
    BitField "bitfield" Contextual,
    BitMask "bitmask" Contextual,
    BitSet "bitset" Contextual,
    Boolean "boolean" Reserved,
    Case "case" Reserved,
    Char "char" Reserved,
    Component "component" Contextual,
    Connector "connector" Contextual,
    Const "const" Reserved,
    Consumes "consumes" Contextual,
    Context "context" Reserved,
    Custom "custom" Reserved,
    Default "default" Reserved,
    Double "double" Reserved,
    Emits "emits" Contextual,
    Enum "enum" Reserved,
    EventType "eventtype" Contextual,
    Exception "exception" Reserved,
    Factory "factory" Reserved,
    False "FALSE" Reserved,
    Finder "finder" Contextual,
    Fixed "fixed" Reserved,
    Float "float" Reserved,
    GetRaises "getraises" Contextual,
    Home "home" Contextual,
    Import "import" Contextual,
    In "in" Reserved,
    InOut "inout" Reserved,
    Int16 "int16" Contextual,
    Int32 "int32" Contextual,
    Int64 "int64" Contextual,
    Int8 "int8" Contextual,
    Interface "interface" Reserved,
    Local "local" Reserved,
    Long "long" Reserved,
    Manages "manages" Contextual,
    Map "map" Contextual,
    MirrorPort "mirrorport" Contextual,
    Module "module" Reserved,
    Multiple "multiple" Contextual,
    Native "native" Reserved,
    Object "Object" Reserved,
    Octet "octet" Reserved,
    Oneway "oneway" Reserved,
    Out "out" Reserved,
    Port "port" Contextual,
    PortType "porttype" Contextual,
    PrimaryKey "primarykey" Contextual,
    Private "private" Reserved,
    Provides "provides" Contextual,
    Public "public" Reserved,
    Publishes "publishes" Contextual,
    Raises "raises" Reserved,
    ReadOnly "readonly" Reserved,
    Sequence "sequence" Reserved,
    SetRaises "setraises" Contextual,
    Short "short" Reserved,
    String "string" Reserved,
    Struct "struct" Reserved,
    Supports "supports" Reserved,
    Switch "switch" Reserved,
    True "TRUE" Reserved,
    Truncatable "truncatable" Reserved,
    Typedef "typedef" Reserved,
    TypeId "typeid" Contextual,
    TypeName "typename" Contextual,
    TypePrefix "typeprefix" Contextual,
    UInt16 "uint16" Contextual,
    UInt32 "uint32" Contextual,
    UInt64 "uint64" Contextual,
    UInt8 "uint8" Contextual,
    Union "union" Reserved,
    Unsigned "unsigned" Reserved,
    Uses "uses" Contextual,
    ValueBase "ValueBase" Reserved,
    ValueType "valuetype" Reserved,
    Void "void" Reserved,
    WChar "wchar" Reserved,
    WString "wstring" Reserved,
}

impl Keyword {
    /// Returns the reserved word that differs from `text` only in case: such a name must be escaped.
    pub(crate) fn clashing(text: &str) -> Option<Keyword> {
        Keyword::ALL
            .iter()
            .copied()
            .find(|keyword| !keyword.is_contextual() && keyword.as_str().eq_ignore_ascii_case(text))
    }
}
