//! Words that carry no meaning of their own.

use std::{collections::HashSet, sync::LazyLock};

/// English function words. Not the list of `stop-words`: that one drops `system`, `test`, `microsoft` and 1,100 others
/// that people search for.
const ENGLISH: &str = "a about above after again against all am an and any are aren't as at be because been before being \
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few \
    for from further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself \
    his how how's i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just let's ll me might mightn't \
    more most must mustn't my myself needn't no nor not now of off on once only or other ought our ours ourselves out \
    over own please re same shall shan't she she'd she'll she's should should've shouldn't so some such than that that'll \
    that's the their theirs them themselves then there there's these they they'd they'll they're they've this those \
    through to too under until up ve very was wasn't we we'd we'll we're we've were weren't what what's when when's where \
    where's which while who who's whom whose why why's will with won't would wouldn't you you'd you'll you're you've your \
    yours yourself yourselves";

/// On the Chinese list of `stop-words`, yet parts of dates, amounts and sizes.
const CHINESE_KEPT: &str = "一 二 三 四 五 六 七 八 九 零 万一 年 月 日 时 秒 大 小 区 上下 前后 分 点 边 开始 结果 经过 看 儿 人 人家";

/// Not on it, yet said in most questions.
const CHINESE_ADDED: &str = "请问 请 一下 知道 是不是 有没有 没有 吗 呢 吧 哪 很 也 不 了 的 有 还";

static ENGLISH_SET: LazyLock<HashSet<&str>> = LazyLock::new(|| ENGLISH.split_whitespace().collect());

static CHINESE_SET: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let mut set: HashSet<&str> = stop_words::get("zh").iter().copied().collect();
    for word in CHINESE_KEPT.split_whitespace() {
        set.remove(word);
    }
    set.extend(CHINESE_ADDED.split_whitespace());
    set
});

/// Languages that write names with capitals and whose lists of common words `stop-words` has.
const CASED: [&str; 18] =
    ["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "ro", "el", "ru", "uk", "bg"];

static COMMON: LazyLock<HashSet<&str>> =
    LazyLock::new(|| CASED.iter().flat_map(|code| stop_words::get(code)).copied().chain(INTERJECTIONS.split_whitespace()).collect());

/// Openers of spoken sentences.
const INTERJECTIONS: &str = "wow hey hi yeah yep yup nope haha aww ah oops ugh cool awesome congrats congratulations nice \
    sounds glad love loved amazing fantastic wonderful perfect beautiful keep remember always never use ask make avoid yesterday tomorrow tonight";

/// Whether a folded word is an English function word, contractions included.
pub(super) fn is_english(word: &str) -> bool {
    ENGLISH_SET.contains(word)
}

/// Whether a Chinese word, or pair of characters, is only function words.
pub(super) fn is_chinese(word: &str) -> bool {
    CHINESE_SET.contains(word) || word.chars().all(|c| CHINESE_SET.contains(c.encode_utf8(&mut [0; 4]) as &str))
}

/// Whether a folded word is common in a cased language: at the start of a sentence its capital means nothing.
pub(super) fn is_common(word: &str) -> bool {
    COMMON.contains(word) || is_english(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_words_are_stopped_and_content_is_not() {
        for word in ["the", "don't", "who"] {
            assert!(is_english(word), "{word}");
        }
        for word in ["system", "test", "year", "microsoft"] {
            assert!(!is_english(word), "{word}");
        }
        for word in ["的", "什么", "我们", "是的"] {
            assert!(is_chinese(word), "{word}");
        }
        for word in ["五月", "今年", "大小", "问题", "故宫"] {
            assert!(!is_chinese(word), "{word}");
        }
        assert!(is_common("aber") && is_common("что") && !is_common("caroline"));
    }
}
