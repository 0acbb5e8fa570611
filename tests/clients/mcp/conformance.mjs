// The conformance suite of the protocol, at both versions: everything that a version requires, but for what
// conformance.json excepts, each with its reason. An exception that is no longer needed is a failure, too.
//
// Usage: node conformance.mjs URL   (a server that wants no token: see proxy.mjs)

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Checks } from "./checks.mjs";

const [url] = process.argv.slice(2);
const checks = new Checks("mcp-conformance");
const excepted = JSON.parse(readFileSync(join(import.meta.dirname, "conformance.json"), "utf8")).excepted;
const needed = new Set();

// The exception for a check, or for its whole scenario; a name may end in a star.
function exception(scenario, check) {
  return Object.keys(excepted).find((name) =>
    name.endsWith("*") ? scenario.startsWith(name.slice(0, -1)) : name === scenario || name === `${scenario}: ${check}`,
  );
}

function suite(version, results) {
  const args = ["node_modules/.bin/conformance", "server", "--url", url, "--requirements", version, "--output-dir", results];
  // Its exit code counts what we except; the files have all that it found.
  return new Promise((done) => execFile(process.execPath, args, { cwd: import.meta.dirname, maxBuffer: 1 << 26 }, (_, output) => done(output)));
}

for (const version of ["2025-11-25", "2026-07-28"]) {
  const results = mkdtempSync(join(tmpdir(), "conformance-"));
  const output = await suite(version, results);
  checks.check(`${version}: the suite came to its end`, /^Total: \d+ passed/m.test(output), output.slice(-500));
  for (const folder of readdirSync(results)) {
    const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT.*$/, "");
    for (const { id, status, errorMessage } of JSON.parse(readFileSync(join(results, folder, "checks.json"), "utf8"))) {
      if (status !== "SUCCESS" && status !== "FAILURE") continue;
      const known = status === "FAILURE" ? exception(scenario, id) : undefined;
      if (known === undefined) checks.check(`${version} ${scenario}: ${id}`, status === "SUCCESS", errorMessage);
      else needed.add(known);
    }
  }
  rmSync(results, { recursive: true });
}
for (const name of Object.keys(excepted)) {
  checks.check(`conformance.json excepts "${name}", which fails nowhere: delete it`, needed.has(name));
}
checks.close();
