// Keeps a setting with the data.
// Parameters: $key STRING, $value STRING
// Returns: nothing
// Index: constraint meta_key
MERGE (meta:Meta {key: $key})
SET meta.value = $value
