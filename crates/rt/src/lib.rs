//! Buffers, slots and histograms of the steady path.
