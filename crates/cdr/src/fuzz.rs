//! Entry points of the fuzz targets: no input may cause a panic.

pub use crate::model::encode_as_modelled;
use crate::prelude::*;
pub use crate::value::fuzz::decode_values;
use crate::{
    Any, ByteOrder, CharSet, Decode, Decoder, DecoderLimits, Dialect, Dynamic, Encode, Encoder,
    LongDouble, TypeCode, WcharSet, skip,
};

/// Decodes a type code, and the rest as a value of the type. Valid input is encoded and decoded
/// again.
pub fn decode_typecode(data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let mut decoder = Decoder::new(data, order, Dialect::GIOP_1_2);
        let Ok(ty) = TypeCode::decode(&mut decoder) else {
            continue;
        };
        assert!(!ty.to_string().is_empty());
        let mut encoder = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
        ty.encode(&mut encoder).expect("what was read is complete");
        let octets = encoder.finish();
        let again =
            TypeCode::decode(&mut Decoder::new(octets.contiguous(), order, Dialect::GIOP_1_2));
        let again = again.expect("what was just written can be read");
        assert!(again.equal(&ty) && ty.equivalent(&again));
        assert!(ty.compact().equivalent(&ty));

        if let Ok(value) = Dynamic::default_for(&ty) {
            value.check(&ty).expect("a default is a value");
        }
        let mut skipped = decoder.clone();
        let end = skip(&ty, &mut skipped).map(|()| skipped.position());
        if Dynamic::decode(&ty, &mut decoder).is_ok() {
            assert_eq!(end, Ok(decoder.position()), "what is read and what is skipped end alike");
        }
    }
}

/// Decodes an any, examines its value, and passes it on in the other byte order.
pub fn decode_any(data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        let Ok(any) = Any::decode(&mut Decoder::new(data, order, Dialect::GIOP_1_2)) else {
            continue;
        };
        let Ok(value) = any.dynamic() else {
            continue;
        };
        if !is_right_throughout(&value) {
            continue;
        }
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let mut encoder = Encoder::new(Vec::new(), order, Dialect::GIOP_1_2);
            encoder.octet(0);
            let written = any.encode(&mut encoder);
            written.expect("what can be read can be passed on");
            let octets = encoder.finish();
            let decoder = Decoder::new(octets.contiguous(), order, Dialect::GIOP_1_2);
            let again = Any::decode(&mut decoder.at(1)).expect("just written");
            // Compares text, because a NaN is not equal to itself.
            let shown = format!("{:?}", again.dynamic());
            assert_eq!(shown, format!("{:?}", Ok::<_, ()>(&value)));
        }
    }
}

/// Reports whether the anys within a value can be decoded, too, and nothing in it was truncated.
/// Decoding the outer value found only the ends of the anys.
fn is_right_throughout(value: &Dynamic) -> bool {
    match value {
        Dynamic::Any(any) => any.dynamic().is_ok_and(|value| is_right_throughout(&value)),
        // A truncated value is re-encoded as the type to which it was truncated, so it would differ
        // after the round trip.
        Dynamic::Value(value) if value.truncated_from.is_some() => false,
        other => {
            (0..other.component_count()).filter_map(|at| other.element(at)).all(is_right_throughout)
        }
    }
}

/// Decodes the same octets as one type after the other, in every order and dialect.
pub fn decode_everything(data: &[u8]) {
    for order in [ByteOrder::Big, ByteOrder::Little] {
        for giop_minor in 0..=2 {
            for (chars, wchars) in
                [(CharSet::Iso8859_1, WcharSet::Ucs2), (CharSet::Utf8, WcharSet::Utf16)]
            {
                let decoder = Decoder::new(data, order, Dialect { giop_minor, chars, wchars });
                one_type_after_the_other(decoder.clone());
                directed_by_the_octets(decoder);
            }
        }
    }
}

fn one_type_after_the_other(decoder: Decoder<'_>) {
    fn read<'de, T: Decode<'de>>(decoder: &Decoder<'de>) {
        let _ = T::decode(&mut decoder.clone());
        let _ = Vec::<T>::decode(&mut decoder.clone());
        let _ = <[T; 3]>::decode(&mut decoder.clone());
    }
    read::<u8>(&decoder);
    read::<bool>(&decoder);
    read::<i16>(&decoder);
    read::<u32>(&decoder);
    read::<f32>(&decoder);
    read::<u64>(&decoder);
    read::<f64>(&decoder);
    read::<LongDouble>(&decoder);
    read::<char>(&decoder);
    read::<String>(&decoder);
    read::<Vec<String>>(&decoder);
    let _ = decoder.clone().wchar();
    let _ = decoder.clone().wstring();
    let _ = decoder.clone().sequence_with(None, 4, Decoder::wstring);
    let _ = decoder.finish();
}

/// Lets each octet select what to read next, so that types occur at every alignment and depth.
fn directed_by_the_octets(mut decoder: Decoder<'_>) {
    decoder = decoder.with_limits(DecoderLimits { max_depth: 16, ..DecoderLimits::default() });
    while let Ok(choice) = decoder.octet() {
        let outcome = match choice % 16 {
            0 => decoder.short().map(drop),
            1 => decoder.long().map(drop),
            2 => decoder.longlong().map(drop),
            3 => decoder.long_double().map(|number| {
                assert_eq!(
                    number.to_f64().is_nan(),
                    LongDouble::from_x87(number.to_x87()).to_f64().is_nan()
                )
            }),
            4 => decoder.boolean().map(drop),
            5 => decoder.char().map(drop),
            6 => decoder.wchar().map(drop),
            7 => decoder.string().map(drop),
            8 => decoder.wstring().map(drop),
            9 => decoder.bounded_string(3).map(drop),
            10 => decoder.sequence::<i32>(Some(9)).map(drop),
            11 => decoder.sequence::<bool>(None).map(drop),
            12 => decoder.length(None, 0).map(drop),
            13 => decoder.align(8),
            14 => decoder.sequence::<[u16; 2]>(None).map(drop),
            _ => match decoder.encapsulation() {
                Ok(inside) => {
                    decoder = inside;
                    Ok(())
                }
                Err(error) => Err(error),
            },
        };
        if let Err(error) = outcome {
            assert!(!error.to_string().is_empty());
            return;
        }
    }
}
