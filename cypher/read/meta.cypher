// A setting that is kept with the data.
// Parameters: $key STRING
// Returns: value STRING; no row if it is not set
// Index: constraint meta_key
MATCH (meta:Meta {key: $key})
RETURN meta.value AS value
