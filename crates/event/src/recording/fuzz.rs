//! Entry point of the fuzz target for recordings. No input may cause a panic or a hang, or exceed the limits.

use crate::recording::{Playback, PlaybackLimits, split_cdr};

/// Reads `data` as a recording, up to its end.
pub fn play(data: &[u8]) {
    let limits = PlaybackLimits { record: 4 << 10, descriptions: 4 << 10 };
    let Ok(mut playback) = Playback::with_limits(data, limits) else {
        return;
    };
    while let Ok(Some(message)) = playback.next_message() {
        assert!(message.data.len() <= limits.record);
        let _ = split_cdr(message.data);
    }
    assert!(playback.ending().is_some());
}
