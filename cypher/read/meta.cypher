// A setting that is kept with the data.
// parameters: $key STRING
// gives: value STRING; no row if it is not set
// index: constraint meta_key
MATCH (meta:Meta {key: $key})
RETURN meta.value AS value
