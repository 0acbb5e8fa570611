// What server this is.
// parameters: none
// gives: version STRING
// index: none, it reads no data
CALL dbms.components() YIELD name, versions
WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version
