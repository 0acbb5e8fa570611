//! A setting that opens something. It is read as a string and shown as stars, in logs and in `recollect config` alike.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// See the module.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret itself, if one is set; for whoever sends it.
    pub fn reveal(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "" } else { "***" })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_as_stars_and_an_empty_one_as_nothing() {
        for (text, shown) in [("open sesame", "***"), ("", "")] {
            let secret = Secret(text.to_owned());
            assert_eq!(secret.to_string(), shown);
            assert_eq!(format!("{secret:?}"), format!("\"{shown}\""));
            assert_eq!(serde_json::to_value(&secret).expect("JSON"), shown);
            assert_eq!(secret.reveal().unwrap_or_default(), text);
        }
    }
}
