//! Applies a unified diff to the text that it was made from.

/// The text that comes of `patch`; the error says which hunk does not fit, and why.
///
/// Strict: a hunk must find its lines where it says. Who sends a patch names the revision it was made from, so there is
/// nothing to guess.
pub fn apply_patch(text: &str, patch: &str) -> Result<String, String> {
    let old: Vec<&str> = text.split_inclusive('\n').collect();
    let mut new: Vec<String> = Vec::new();
    let mut taken = 0;
    let mut hunks = 0;
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(header) = line.strip_prefix("@@ ") else {
            // Names of files and the like before the first hunk; between hunks every line belongs to one.
            if hunks > 0 && !line.trim().is_empty() {
                return Err(format!("after hunk {hunks} there is a line that belongs to none"));
            }
            continue;
        };
        hunks += 1;
        let (start, old_count, new_count) =
            range(header).ok_or_else(|| format!("hunk {hunks} does not begin with `@@ -FROM,LINES +FROM,LINES @@`"))?;
        // A hunk that takes nothing away stands after the line it names.
        let start = if old_count == 0 { start } else { start.saturating_sub(1) };
        if start < taken || start > old.len() {
            return Err(format!("hunk {hunks} begins outside of the text or inside of the hunk before"));
        }
        new.extend(old[taken..start].iter().map(|line| (*line).to_owned()));
        taken = start;
        let (mut old_left, mut new_left) = (old_count, new_count);
        while old_left > 0 || new_left > 0 {
            let line = lines.next().ok_or_else(|| format!("hunk {hunks} ends too early"))?;
            let bare = lines.next_if(|next| next.starts_with('\\')).is_some();
            let (op, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            let said = if bare { rest.to_owned() } else { format!("{rest}\n") };
            if op != "+" {
                let expected = old.get(taken).copied().unwrap_or_default();
                // The end of the last line is often lost on the way.
                if expected.trim_end_matches(['\r', '\n']) != rest.trim_end_matches('\r') {
                    return Err(format!("hunk {hunks} does not find its line {} in the text", taken + 1));
                }
                taken += 1;
                old_left = old_left.checked_sub(1).ok_or_else(|| too_long(hunks))?;
                if op == " " {
                    new.push(expected.to_owned());
                    new_left = new_left.checked_sub(1).ok_or_else(|| too_long(hunks))?;
                } else if op != "-" {
                    return Err(format!("hunk {hunks} has a line that begins with none of ` `, `-`, `+`"));
                }
            } else {
                new.push(said);
                new_left = new_left.checked_sub(1).ok_or_else(|| too_long(hunks))?;
            }
        }
    }
    if hunks == 0 {
        return Err("it has no hunk".to_owned());
    }
    new.extend(old[taken..].iter().map(|line| (*line).to_owned()));
    Ok(new.concat())
}

fn too_long(hunk: usize) -> String {
    format!("hunk {hunk} has more lines than it says")
}

/// First line and number of lines in the old text, and number of lines in the new, of `-1,2 +3,4 @@`.
fn range(header: &str) -> Option<(usize, usize, usize)> {
    let mut parts = header.split(' ');
    let side = |part: Option<&str>, sign: char| {
        let part = part?.strip_prefix(sign)?;
        let (start, count) = part.split_once(',').unwrap_or((part, "1"));
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (start, old) = side(parts.next(), '-')?;
    let (_, new) = side(parts.next(), '+')?;
    (parts.next() == Some("@@")).then_some((start, old, new))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wiki::Diff;

    #[test]
    fn hunk_that_does_not_fit_is_named() {
        for (patch, words) in [
            ("", "no hunk"),
            ("@@ -1 +1 @@\n-x\n+y\n", "line 1"),
            ("@@ -9,1 +9,1 @@\n-a\n+y\n", "outside"),
            ("@@ -1,2 +1,1 @@\n-a\n", "too early"),
            ("@@ one @@\n", "begin"),
            ("@@ -1,1 +1,1 @@\n-a\n+y\nmore\n", "none"),
            ("@@ -1,1 +1,0 @@\n*a\n", "begins with none"),
        ] {
            let error = apply_patch("a\nb\n", patch).expect_err(patch);
            assert!(error.contains(words), "{patch:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn patch_of_a_difference_leads_to_the_new_text(
            old in prop::collection::vec("[a-c]{0,2}\n", 0..12), new in prop::collection::vec("[a-c]{0,2}\n", 0..12),
        ) {
            let (old, new) = (old.concat(), new.concat());
            prop_assume!(old != new);
            let patch = format!("--- a\n+++ b\n{}", Diff::of(&old, &new).unified());
            prop_assert_eq!(apply_patch(&old, &patch), Ok(new));
        }
    }
}
