// Keeps a setting with the data.
// parameters: $key STRING, $value STRING
// gives: nothing
// index: constraint meta_key
MERGE (meta:Meta {key: $key})
SET meta.value = $value
