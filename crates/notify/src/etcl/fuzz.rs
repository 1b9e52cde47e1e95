//! Entry points of the fuzz targets: no octets may cause a panic, a hang, or an excess over the limits.

use oxorb_cdr::{Any, ByteOrder, Decode as _, Decoder, Dialect as Cdr, Limits as CdrLimits};

use crate::etcl::{Constraint, ConstraintLimits, Dialect, Grammar, Mismatch, Options, Subject};

/// Reads the octets up to the first zero as a constraint, in both dialects, and the rest as an any for which it is
/// evaluated.
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

/// Evaluates a constraint for an any as received, as a tree, and as a typed event, with the same result.
fn over(constraint: &Constraint, data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let d = Decoder::new(data, order, Cdr::GIOP_1_2).with_limits(CdrLimits::default());
        let Ok(any) = Any::decode(&mut d.clone()) else {
            continue;
        };
        let received = constraint.evaluate_at(Subject::Any(&any), 5);
        let _ = constraint.evaluate_at(Subject::Properties(&vec![("x", any.clone())]), 5);
        // An any with a malformed part can only be read in part.
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
