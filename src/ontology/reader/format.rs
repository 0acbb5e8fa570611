//! Which format a file is in: its content says so, and where it does not, its extension.

use super::ReadError;

/// What an extension and the beginning of a file say together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Turtle.
    Turtle,
    /// N-Triples.
    NTriples,
    /// N-Quads; graphs are taken as one.
    NQuads,
    /// TriG; graphs are taken as one.
    TriG,
    /// RDF/XML.
    RdfXml,
    /// JSON-LD with its context inside.
    JsonLd,
    /// OBO 1.2 and 1.4.
    Obo,
    /// A table with commas.
    Csv,
    /// A table with tabs.
    Tsv,
}

/// What cannot be read, and what to do.
const CONVERT: &str = "convert it with ROBOT: robot convert --input FILE --output FILE.ttl";

impl Format {
    /// The format of a file with this name and content.
    pub fn of(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"BZh") {
            return Err(ReadError::at("is compressed; unpack it first", 1, 1));
        }
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(ReadError::at("is UTF-16; save it as UTF-8", 1, 1));
        }
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(64 * 1024)]);
        let start = head.trim_start();
        let place = head.len() - start.len();
        let refuse = |what: String| Err(ReadError::at_offset(what, head.as_bytes(), place));
        if start.starts_with("<?xml") || start.starts_with("<!--") || start.starts_with("<!DOCTYPE") || is_tag(start) {
            let root = root_element(start);
            let local = root.rsplit(':').next().unwrap_or_default();
            return match local.to_ascii_lowercase().as_str() {
                "html" | "head" | "body" => refuse("is a web page (HTML), not an ontology".to_owned()),
                "ontology" => refuse(format!("is OWL/XML; {CONVERT}")),
                "rdf" => Ok(Self::RdfXml),
                // A single node may stand without its `rdf:RDF`.
                _ if start.contains("http://www.w3.org/1999/02/22-rdf-syntax-ns#") || name.ends_with(".rdf") => {
                    Ok(Self::RdfXml)
                }
                _ => refuse(format!("is XML with the root {root:?}, not RDF/XML")),
            };
        }
        let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
        let code = start.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
        if ["Prefix(", "Ontology(", "Declaration("].iter().any(|word| code.starts_with(word)) {
            return refuse(format!("is OWL in functional syntax; {CONVERT}"));
        }
        if ["Prefix:", "Ontology:", "Class:", "ObjectProperty:"].iter().any(|word| code.starts_with(word)) {
            return refuse(format!("is OWL in Manchester syntax; {CONVERT}"));
        }
        Ok(match extension.as_str() {
            "obo" => Self::Obo,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "nt" => Self::NTriples,
            "nq" => Self::NQuads,
            "trig" => Self::TriG,
            "ttl" => Self::Turtle,
            "json" | "jsonld" => Self::JsonLd,
            "rdf" | "xml" | "owl" | "" | "txt" | "skos" | "n3" => {
                if start.starts_with(['{', '[']) && start.contains('"') {
                    Self::JsonLd
                } else if code.starts_with("format-version:") || start.contains("\n[Term]") {
                    Self::Obo
                } else {
                    Self::Turtle
                }
            }
            _ => {
                let known = "ttl, nt, nq, trig, rdf, owl, xml, jsonld, json, obo, csv, tsv";
                return Err(ReadError::new(format!("has the extension {extension:?}, known are {known}")));
            }
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turtle => "Turtle",
            Self::NTriples => "N-Triples",
            Self::NQuads => "N-Quads",
            Self::TriG => "TriG",
            Self::RdfXml => "RDF/XML",
            Self::JsonLd => "JSON-LD",
            Self::Obo => "OBO",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
        }
    }
}

/// `<name ` or `<prefix:name>`, which an IRI in angle brackets is not.
fn is_tag(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('<') else { return false };
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, ':' | '_' | '-' | '.'))).unwrap_or(rest.len());
    // `<urn:x>` is an IRI; the tags that matter have a space or a line end, or are `<html>`.
    rest[..end].starts_with(char::is_alphabetic)
        && (rest[end..].starts_with(char::is_whitespace) || rest[..end].eq_ignore_ascii_case("html"))
}

/// The name of the first element.
fn root_element(text: &str) -> &str {
    let mut rest = text;
    loop {
        let Some(at) = rest.find('<') else { return "" };
        rest = &rest[at..];
        let end = if rest.starts_with("<!--") {
            rest.find("-->").map(|end| end + 3)
        } else if rest.starts_with("<?") {
            rest.find("?>").map(|end| end + 2)
        } else if rest.get(..9).is_some_and(|head| head.eq_ignore_ascii_case("<!doctype")) {
            if rest
                .get(9..)
                .is_some_and(|name| name.trim_start().get(..4).is_some_and(|n| n.eq_ignore_ascii_case("html")))
            {
                return "html";
            }
            // An internal subset has tags of its own.
            match (rest.find('['), rest.find('>')) {
                (Some(open), Some(close)) if open < close => {
                    rest[open..].find(']').and_then(|end| Some(open + end + rest[open + end..].find('>')? + 1))
                }
                (_, close) => close.map(|close| close + 1),
            }
        } else {
            let name = &rest[1..];
            let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).unwrap_or(name.len());
            return &name[..end];
        };
        match end {
            Some(end) => rest = &rest[end..],
            None => return "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides_before_the_name() {
        for (name, text, expected) in [
            ("a.ttl", "@prefix ex: <http://e/> .", Ok(Format::Turtle)),
            ("a.ttl", "<http://e/a> a <http://e/b> .", Ok(Format::Turtle)),
            ("a.owl", "@prefix ex: <http://e/> .", Ok(Format::Turtle)),
            ("a.ttl", "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"x\">", Ok(Format::RdfXml)),
            (
                "a.owl",
                "<?xml version=\"1.0\"?>\n<!DOCTYPE rdf:RDF [\n<!ENTITY owl \"http://o\">\n]>\n<rdf:RDF>",
                Ok(Format::RdfXml),
            ),
            ("a", "{\"@context\": {}}", Ok(Format::JsonLd)),
            ("a.txt", "format-version: 1.2\n\n[Term]\nid: A:1\n", Ok(Format::Obo)),
            ("a.csv", "id,label\n", Ok(Format::Csv)),
            ("a.ttl", "<!DOCTYPE html>\n<html>", Err("web page")),
            ("a.owl", "<?xml version=\"1.0\"?>\n<Ontology xmlns=\"x\">", Err("OWL/XML")),
            ("a.owl", "Prefix(:=<http://e/>)\nOntology(<http://e>)", Err("functional")),
            ("a.owl", "Prefix: : <http://e/>\nOntology: <http://e>", Err("Manchester")),
            ("a.ttl", "PK\u{3}\u{4}", Err("compressed")),
            ("a.nq", " \n", Ok(Format::NQuads)),
            ("a.docx", "x", Err("extension")),
        ] {
            match (Format::of(name, text.as_bytes()), expected) {
                (Ok(format), Ok(expected)) => assert_eq!(format, expected, "{name} {text}"),
                (Err(error), Err(part)) => assert!(error.what.contains(part), "{name}: {}", error.what),
                (got, expected) => panic!("{name} {text}: {got:?}, not {expected:?}"),
            }
        }
    }
}
