//! What the decoders of bodies are told. STAND-IN, replaced when the decoders are joined.

use informer_core::DecodeOptions;

/// How bodies are decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeSettings {
    /// What is kept of an object.
    pub options: DecodeOptions,
    /// The largest frame, in bytes (D11).
    pub max_frame: usize,
}

impl Default for DecodeSettings {
    fn default() -> Self {
        DecodeSettings { options: DecodeOptions::default(), max_frame: 32 * 1024 * 1024 }
    }
}
