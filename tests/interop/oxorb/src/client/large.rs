//! Checks with messages large enough to arrive in many pieces.

use oxorb_interop::interop::SuiteRef;

use crate::check::{Checks, Result, eventually, holds, some};
use crate::data::point;

pub(crate) fn messages(checks: &mut Checks, suite: &SuiteRef) -> Result {
    let o = some(suite.sequence_tests()?)?;
    checks.check("large_octets", || {
        for size in [8192, 65536, 65537, 1 << 20, 5 << 20] {
            let data: Vec<u8> =
                (0..size as u32).map(|i| (i.wrapping_mul(7) + (i >> 8)) as u8).collect();
            holds(*o.echo_octets(&data)? == *data, &format!("the same {size} octets"))?;
        }
        Ok(())
    });
    checks.check("large_doubles", || {
        let data: Vec<f64> = (0..200_000).map(|i| f64::from(i) * 0.5).collect();
        holds(o.echo_doubles(&data)? == data, "the same doubles")
    });
    checks.check("large_structs", || {
        let data: Vec<_> = (0..50_000).map(point).collect();
        holds(o.echo_points(&data)? == data, "the same structs")
    });
    checks.check("large_strings", || {
        let data: Vec<String> = (0..30_000_usize)
            .map(|i| char::from(b'a' + (i % 26) as u8).to_string().repeat(i % 100))
            .collect();
        holds(o.echo_strings(&data)? == data, "the same strings")
    });
    checks.check("large_string", || {
        let text: String = (0..1_500_000_u32).map(|i| char::from(b'a' + (i % 23) as u8)).collect();
        holds(o.echo_string(&text)? == text, "the same string")
    });
    let o = some(suite.property_tests()?)?;
    checks.check("large_oneway", || {
        o.store(&[0; 300_000])?;
        eventually("300000 octets to be stored", || Ok(o.stored()? == 300_000))
    });
    Ok(())
}
