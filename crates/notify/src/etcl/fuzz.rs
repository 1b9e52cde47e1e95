//! Entry points of the fuzz targets. No input may cause a panic or a hang, or exceed the limits.

use oxorb_cdr::{Any, ByteOrder, Decode as _, Decoder, DecoderLimits as CdrLimits, Dialect as Cdr};

use crate::etcl::{Constraint, ConstraintLimits, Dialect, Grammar, Mismatch, Options, Subject};

/// Parses the octets before the first zero as a constraint, in both dialects, and evaluates it for the any that the
/// remaining octets encode.
pub fn filter(data: &[u8]) {
    let mut parts = data.splitn(2, |octet| *octet == 0);
    let text = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let rest = parts.next().unwrap_or_default();
    let limits = ConstraintLimits { work: 1 << 20, ..ConstraintLimits::default() };
    for dialect in [Dialect::Standard, Dialect::Tao] {
        let options = Options { dialect, limits };
        for grammar in [Grammar::Extended, Grammar::Trader] {
            match Constraint::parse_with(&text, grammar, options) {
                Ok(constraint) => over(&constraint, rest),
                Err(error) => assert!(error.at <= text.len() && !error.to_string().is_empty()),
            }
        }
    }
}

/// Evaluates a constraint for an any as received, as a typed event, and as a tree. The results for the received any and
/// for the tree must be equal.
fn over(constraint: &Constraint, data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let d = Decoder::new(data, order, Cdr::GIOP_1_2).with_limits(CdrLimits::default());
        let Ok(any) = Any::decode(&mut d.clone()) else {
            continue;
        };
        let received = constraint.evaluate_at(Subject::Any(&any), 5);
        let _ = constraint.evaluate_at(Subject::Properties(&vec![("x", any.clone())]), 5);
        // An any whose value is partly malformed cannot be converted to a tree, although constraints can use its valid
        // parts.
        if let Ok(value) = any.dynamic()
            && let Ok(tree) = Any::with_type(any.type_code().clone(), value)
        {
            let as_tree = constraint.evaluate_at(Subject::Any(&tree), 5);
            let ended = [&received, &as_tree].map(|result| *result != Err(Mismatch::TooMuchWork));
            if ended == [true; 2] {
                assert_eq!(received.ok(), as_tree.ok(), "{constraint:?} over {any:?}");
            }
        }
    }
}
