// Keeps a setting with the data, if there is none of this name.
// Parameters: $key STRING, $value STRING
// Returns: mine BOOLEAN, whether it says so now
// Index: constraint meta_key
MERGE (meta:Meta {key: $key})
ON CREATE SET meta.value = $value
RETURN meta.value = $value AS mine
