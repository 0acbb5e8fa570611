//! A chat model behind an OpenAI-compatible endpoint. Nothing needs one; some parts are better with it.

use async_trait::async_trait;

use super::PortError;

/// What a model wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text, as it came.
    pub text: String,
    /// Whether it was cut by the length limit.
    pub truncated: bool,
}

/// A model that completes a prompt.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Completes `prompt` under `system`, at most `max_tokens` tokens.
    async fn complete(&self, system: &str, prompt: &str, max_tokens: u32) -> Result<Completion, PortError>;
}
