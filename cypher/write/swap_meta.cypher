// Changes a setting, if it still says what is expected.
// Parameters: $key STRING, $expected STRING, $value STRING
// Returns: mine BOOLEAN, true; no row if it says something else
// Index: constraint meta_key
MATCH (meta:Meta {key: $key})
// Takes the lock of the node: what is read after it is what others have committed.
SET meta.key = $key
WITH meta WHERE meta.value = $expected
SET meta.value = $value
RETURN true AS mine
