//! Exceptions that a peer receives for invalid octets or values.

use oxorb_cdr::{CharSet, CodeSet, ErrorKind, Found, OutsideCodeSet};
use oxorb_object::{CompletionStatus, SystemException, minor};

#[test]
fn each_error_of_the_codec_is_the_exception_that_peers_raise_for_it() {
    use minor::{bad_param, bad_typecode, data_conversion, marshal};

    let no = CompletionStatus::No;
    let cases = [
        (ErrorKind::BadTypeCode, SystemException::bad_typecode(bad_typecode::MALFORMED, no)),
        (ErrorKind::BadTypeKind(99), SystemException::bad_typecode(bad_typecode::MALFORMED, no)),
        (ErrorKind::BadIndirection(-4), SystemException::marshal(marshal::INDIRECTION, no)),
        (ErrorKind::BadFixed, SystemException::marshal(marshal::FIXED, no)),
        (ErrorKind::BadChunk, SystemException::marshal(marshal::VALUE, no)),
        (ErrorKind::NotMarshallable, SystemException::marshal(marshal::LOCAL_OBJECT, no)),
        (ErrorKind::BadBoolean(2), SystemException::marshal(marshal::BOOLEAN, no)),
        (ErrorKind::BadValue, SystemException::bad_param(bad_param::NOT_ENCODABLE, no)),
        (
            ErrorKind::NotInCodeSet(OutsideCodeSet {
                code_set: CodeSet::Char(CharSet::Iso8859_1),
                found: Found::Character('€'),
                position: 3,
            }),
            SystemException::data_conversion(data_conversion::NOT_IN_CODE_SET, no),
        ),
    ];
    for (kind, expected) in cases {
        assert_eq!(SystemException::from_cdr(kind.at(0), no), expected, "{kind}");
    }
}
