//! A page cut into the parts that recall finds: one under each heading, long ones at blank lines.

use super::markup::outside_code;

/// Characters after which a part ends at the next blank line: about what an embedder reads.
const LONG: usize = 1_500;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// The headings and its number below them: the same place in the next revision has the same.
    pub place: String,
    /// Its text, heading included.
    pub text: String,
}

/// The parts of a page, in its order. Parts without a word are left out.
pub fn parts(text: &str) -> Vec<Part> {
    let outside = outside_code(text);
    let mut parts: Vec<Part> = Vec::new();
    let mut headings: Vec<(usize, String)> = Vec::new();
    let mut current = String::new();
    let mut start = 0;
    let mut end = |headings: &[(usize, String)], current: &mut String| {
        let text = std::mem::take(current);
        if text.chars().any(char::is_alphanumeric) {
            let headings: Vec<String> = headings.iter().map(|(_, title)| title.clone()).collect();
            let number = parts.iter().filter(|part| part.headings == headings).count();
            let place = format!("{}#{number}", headings.join(" / "));
            parts.push(Part { headings, place, text: text.trim().to_owned() });
        }
    };
    let mut places = outside.iter().peekable();
    for line in text.split_inclusive('\n') {
        let here = start;
        start += line.len();
        while places.next_if(|place| place.end <= here).is_some() {}
        let is_text = places.peek().is_some_and(|place| place.start <= here);
        if let Some((level, title)) = heading(line).filter(|_| is_text) {
            end(&headings, &mut current);
            headings.retain(|(above, _)| *above < level);
            headings.push((level, title));
        } else if is_text && line.trim().is_empty() && current.chars().count() > LONG {
            end(&headings, &mut current);
        }
        current.push_str(line);
    }
    end(&headings, &mut current);
    parts
}

fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    let title = rest.trim().trim_end_matches('#').trim();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t']) && !title.is_empty()).then(|| (level, title.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_for_each_heading_and_none_for_code() {
        let text = "Intro.\n\n# One\nfirst\n## Deep\nsecond\n```sh\n# a comment\n```\n# Two #\nthird\n\n## Empty\n\n---\n# One\nagain\n";
        let found = parts(text);
        let places: Vec<(&str, &str)> = found.iter().map(|part| (part.place.as_str(), part.text.as_str())).collect();
        assert_eq!(
            places,
            [
                ("#0", "Intro."),
                ("One#0", "# One\nfirst"),
                ("One / Deep#0", "## Deep\nsecond\n```sh\n# a comment\n```"),
                ("Two#0", "# Two #\nthird"),
                ("Two / Empty#0", "## Empty\n\n---"),
                ("One#1", "# One\nagain"),
            ]
        );
    }

    #[test]
    fn long_parts_end_at_a_blank_line() {
        let paragraph = format!("{}\n\n", "word ".repeat(200));
        let found = parts(&paragraph.repeat(6));
        assert_eq!(found.len(), 3);
        assert_eq!(found.iter().map(|part| part.place.as_str()).collect::<Vec<_>>(), ["#0", "#1", "#2"]);
        let fenced = format!("```\n{}```\n", paragraph.repeat(6));
        assert_eq!(parts(&fenced).len(), 1, "code is not cut");
    }
}
