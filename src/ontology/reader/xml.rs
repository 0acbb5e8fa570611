//! What an XML parser must not be trusted with: entities that grow, and how deep elements nest.

use std::collections::HashMap;

use super::ReadError;

/// Longest text that one entity of a file may stand for: they are abbreviations of namespaces.
const ENTITY_BYTES: usize = 1024;
/// Entities of a file at most.
const ENTITIES: usize = 1000;

/// Refuses a file whose entities would grow beyond `max_bytes` together, or name files, and one whose elements nest deeper than
/// `max_nesting`.
pub(super) fn check(text: &str, max_bytes: usize, max_nesting: usize) -> Result<(), ReadError> {
    let entities = entities(text)?;
    let mut grown = text.len();
    for (at, _) in text.match_indices('&') {
        let rest = &text[at + 1..];
        let name = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).next().unwrap_or("");
        grown += entities.get(name).copied().unwrap_or(0);
        if grown > max_bytes {
            return Err(ReadError::at_offset("its entities grow beyond the size of a file", text.as_bytes(), at));
        }
    }
    nesting(text, max_nesting)
}

/// Length of each declared entity, with those inside it written out.
fn entities(text: &str) -> Result<HashMap<&str, usize>, ReadError> {
    let mut entities = HashMap::new();
    for (at, _) in text.match_indices("<!ENTITY") {
        let refuse = |what: &str| Err(ReadError::at_offset(what, text.as_bytes(), at));
        let rest = text[at + 8..].trim_start();
        let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let rest = rest.trim_start();
        if name == "%" || !rest.starts_with(['"', '\'']) {
            return refuse("declares an entity of another file, which is never fetched");
        }
        let quote = &rest[..1];
        let value = rest[1..].split_once(quote).map_or("", |(value, _)| value);
        let mut length = value.len();
        for (inner, _) in value.match_indices('&') {
            let inner = value[inner + 1..].split(';').next().unwrap_or("");
            length += entities.get(inner).copied().unwrap_or(0);
        }
        if length > ENTITY_BYTES || entities.len() >= ENTITIES {
            return refuse("has an entity that grows, as an entity bomb does");
        }
        entities.insert(name, length);
    }
    Ok(entities)
}

/// Open tags minus closing ones, outside of comments, CDATA and instructions.
fn nesting(text: &str, max: usize) -> Result<(), ReadError> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        let skip = |end: &str| rest.find(end).map_or(rest.len(), |place| place + end.len());
        at = start
            + if rest.starts_with("<!--") {
                skip("-->")
            } else if rest.starts_with("<![CDATA[") {
                skip("]]>")
            } else if rest.starts_with("<?") {
                skip("?>")
            } else if rest.starts_with("</") {
                depth = depth.saturating_sub(1);
                skip(">")
            } else if rest.starts_with("<!") {
                1
            } else {
                let end = skip(">");
                if !rest[..end].ends_with("/>") {
                    depth += 1;
                }
                end
            };
        if depth > max {
            let what = format!("nests deeper than {max} elements");
            return Err(ReadError::at_offset(what, text.as_bytes(), start));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused_and_namespaces_are_not() {
        let plain = "<!DOCTYPE rdf:RDF [ <!ENTITY owl \"http://www.w3.org/2002/07/owl#\" > ]><a b=\"&owl;Class\"/>";
        assert_eq!(check(plain, 10_000, 10), Ok(()));
        let mut bomb = "<!DOCTYPE x [ <!ENTITY a0 \"lol lol lol lol\">".to_owned();
        for n in 1..10 {
            let before = format!("&a{};", n - 1).repeat(10);
            bomb += &format!("\n<!ENTITY a{n} \"{before}\">");
        }
        let error = check(&format!("{bomb}]><a>&a9;</a>"), 10_000_000, 10).expect_err("a bomb");
        assert!(error.what.contains("bomb") && error.place.is_some_and(|place| place.line == 3), "{error:?}");
        let many = format!("<!DOCTYPE x [ <!ENTITY a \"{}\"> ]><a>{}</a>", "x".repeat(1000), "&a;".repeat(1000));
        assert!(check(&many, 100_000, 10).is_err());
        let outside = "<!DOCTYPE x [ <!ENTITY a SYSTEM \"file:///etc/hostname\"> ]><a>&a;</a>";
        assert!(check(outside, 10_000, 10).expect_err("a file").what.contains("never fetched"));
        let deep = format!("{}{}", "<a>".repeat(11), "</a>".repeat(11));
        assert!(check(&deep, 10_000, 10).is_err());
        assert_eq!(check("<a><b/><!-- <c> --><c></c></a>", 10_000, 2), Ok(()));
    }
}
