// What server this is.
// Parameters: none
// Returns: version STRING
// Index: none, it reads no data
CALL dbms.components() YIELD name, versions
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version
