//! Text comes back byte for byte, whatever it is made of.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::app::App;

const AWKWARD: [&str; 44] = [
    "plain",
    " leading and trailing ",
    "\ttab, \r\n newline\n",
    "\u{1}\u{2}\u{7}\u{8}\u{b}\u{c}\u{1b}\u{1f}\u{7f} control characters",
    "\u{80}\u{85}\u{9f} C1 controls",
    "\u{a0}\u{2000}\u{2003}\u{202f}\u{3000} kinds of space",
    "\u{2028}line\u{2029}paragraph",
    "\u{feff}byte order mark\u{feff}",
    "\u{fffe}\u{ffff}\u{1ffff}\u{10ffff} non-characters",
    "\u{fffd} replacement",
    "\u{e000}\u{f8ff}\u{f0000} private use",
    "zero\u{200b}width\u{200c}join\u{200d}er\u{2060}",
    "\u{202e}right to left override\u{202c}",
    "\u{2066}isolate\u{2069}\u{61c}\u{200f}",
    "soft\u{ad}hyphen",
    "e\u{301} is not é",
    "\u{212b} is not \u{c5}",
    "ﬁ ligature, ½, ①, ｆｕｌｌｗｉｄｔｈ",
    "İstanbul ıstanbul STRASSE straße ẞ",
    "Z\u{351}\u{36b}\u{343}a\u{329}\u{32b}l\u{34d}\u{35d}g\u{33b}\u{348}o\u{353}\u{33a}",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇭 1️⃣",
    "🪿🫨\u{1f9ff}\u{e0067}\u{e007f}",
    "𝕳𝖊𝖑𝖑𝖔 𝟘𝟙 𓀀 𐍈 𠜎𠜱",
    "记住：以后不要再提这件事。",
    "請記住，臺灣的資料庫「v2」",
    "東京都ｶﾞｷﾞｸﾞ ガギグ",
    "안녕하세요 \u{1112}\u{1161}\u{11ab}",
    "مرحبا بالعالم ١٢٣",
    "שָׁלוֹם עֲלֵיכֶם",
    "สวัสดีชาวโลก",
    "नमस्ते दुनिया",
    "Привет, мир; ёлка",
    "Γειά σου Κόσμε ς σ Σ",
    "'; DROP TABLE memories; --",
    "\" OR \"1\"=\"1",
    "content:x AND (NEAR(a b, 3)) NOT c* ^d {e}",
    "MATCH (n) DETACH DELETE n //",
    "<script>alert(1)</script><!-- -->&amp;&lt;",
    "{\"json\": [null, true, \"\\u0041\"]}",
    "\\ \\\\ \\n \\u0000 %00 %s {} ${HOME} `id` $(id)",
    "null",
    "true",
    "NaN",
    "C:\\CON\\..\\..\\etc/passwd",
];

#[tokio::test]
async fn awkward_text_is_read_back_byte_for_byte() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let mut ids = BTreeSet::new();
    for text in AWKWARD {
        let id =
            ann.store(json!({"content": text, "context": format!("of {text}"), "tags": [format!("#{text}")]})).await;
        let read = ann.ok("memory_get", json!({"ids": [id]})).await;
        let memory = &read["memories"][0];
        assert_eq!(memory["content"].as_str(), Some(text), "{text:?}");
        assert_eq!(memory["context"].as_str(), Some(&*format!("of {text}")), "{text:?}");
        assert_eq!(memory["tags"][0].as_str(), Some(&*format!("#{text}")), "{text:?}");
        assert!(ids.insert(id), "{text:?} was taken for another");
        // As a question it is text, too: nothing in it is syntax.
        for mode in ["keyword", "hybrid", "associative"] {
            ann.ok("memory_recall", json!({"query": text, "mode": mode})).await;
        }
    }
    assert_eq!(app.counts().await.memories, AWKWARD.len());
}

#[tokio::test]
async fn escaped_pairs_are_the_characters_they_name() {
    let app = App::start().await;
    let ann = app.client("ann", &[], &[]).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_store","arguments":{"content":"\ud83d\ude00 \u00e9"}}}"#;
    let answer: serde_json::Value = ann.post().body(body).send().await.expect("an answer").json().await.expect("JSON");
    let id = answer["result"]["structuredContent"]["id"].clone();
    assert_eq!(ann.ok("memory_get", json!({"ids": [id]})).await["memories"][0]["content"], "😀 é");
}
