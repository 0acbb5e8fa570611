//! Colours on a terminal, marks elsewhere, and texts of others made harmless: a terminal obeys what it prints.

use std::{fmt::Write as _, io::IsTerminal};

use serde_json::Value;

use crate::wiki;

/// How things stand out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    colours: bool,
}

/// With colours if standard output is a terminal.
pub(super) fn of_stdout() -> Paint {
    Paint { colours: std::io::stdout().is_terminal() }
}

/// Without colours.
pub(super) fn plain() -> Paint {
    Paint { colours: false }
}

/// With colours.
#[cfg(test)]
pub(super) fn coloured() -> Paint {
    Paint { colours: true }
}

impl Paint {
    pub(super) fn bold(self, text: &str) -> String {
        self.within("1", text)
    }

    pub(super) fn warn(self, text: &str) -> String {
        if self.colours { self.within("33", text) } else { format!("! {text}") }
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.within("2", text)
    }

    /// Every line as one that goes.
    pub(super) fn removed(self, text: &str) -> String {
        self.within("31", &prefixed('-', text))
    }

    /// Every line as one that comes.
    pub(super) fn added(self, text: &str) -> String {
        self.within("32", &prefixed('+', text))
    }

    fn within(self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn prefixed(mark: char, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("{mark}{line}")).collect();
    lines.join("\n")
}

/// A text with everything shown that a terminal would obey or hide.
pub(super) fn shown(text: &str) -> String {
    // A carriage return lets a line write over its own beginning.
    wiki::marks(&text.replace("\r\n", "\n").replace('\r', "⟦U+000D⟧")).shown
}

/// A difference by lines, with the words that changed inside them: `[-gone-]{+come+}` where there are no colours.
pub(super) fn diff(diff: &Value, paint: &Paint) -> String {
    let mut out = String::new();
    let items = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for hunk in items(&diff["hunks"]) {
        let place = format!("@@ line {} → {} @@", hunk["old_line"], hunk["new_line"]);
        let _ = writeln!(out, "{}", paint.dim(&place));
        for line in items(&hunk["lines"]) {
            let parts = items(&line["parts"]);
            // A line that changed as a whole needs no marks of its own.
            let wholly = parts.iter().all(|part| part["changed"] == true);
            let (mark, code, open, close) = match line["op"].as_str() {
                Some("delete") => ('-', "31", "[-", "-]"),
                Some("insert") => ('+', "32", "{+", "+}"),
                _ => (' ', "", "", ""),
            };
            let mut said = String::from(mark);
            for part in &parts {
                let text = shown(part["text"].as_str().unwrap_or_default());
                let (text, end) = text.strip_suffix('\n').map_or((text.as_str(), ""), |text| (text, "\n"));
                match part["changed"] == true && !wholly && !text.is_empty() {
                    true if paint.colours => {
                        let _ = write!(said, "\u{1b}[7m{text}\u{1b}[27m{end}");
                    }
                    true => {
                        let _ = write!(said, "{open}{text}{close}{end}");
                    }
                    false => {
                        let _ = write!(said, "{text}{end}");
                    }
                }
            }
            if !said.ends_with('\n') {
                said.push('\n');
            }
            if paint.colours && !code.is_empty() {
                let _ = write!(out, "\u{1b}[{code}m{said}\u{1b}[0m");
            } else {
                out.push_str(&said);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, expected) in [
            ("plain 值班\n\ttext", "plain 值班\n\ttext"),
            ("\u{1b}[2J", "⟦U+001B⟧[2J"),
            ("good\rbad", "good⟦U+000D⟧bad"),
            ("two\r\nlines", "two\nlines"),
            ("a\u{202e}b", "a⟦U+202E⟧b"),
            ("a\u{9b}31mb", "a⟦U+009B⟧31mb"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
