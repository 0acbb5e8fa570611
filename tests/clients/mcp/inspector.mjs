// The inspector's command line: every tool's schemas without a complaint, and a call of each kind.
//
// Usage: node inspector.mjs URL TOKEN

import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { Checks } from "./checks.mjs";

const [url, token] = process.argv.slice(2);
const checks = new Checks("mcp-inspector");
const run = promisify(execFile);

async function inspector(...args) {
  const all = ["node_modules/.bin/mcp-inspector", "--cli", url, "--transport", "http", "--header", `Authorization: Bearer ${token}`];
  try {
    const { stdout, stderr } = await run(process.execPath, [...all, "--format", "json", ...args], { cwd: import.meta.dirname });
    return { code: 0, answer: JSON.parse(stdout).result, stderr };
  } catch (error) {
    return { code: error.code, stderr: `${error.stderr}${error.stdout}` };
  }
}

for (const era of ["legacy", "modern"]) {
  const listed = await inspector("--protocol-era", era, "--method", "tools/list", "--strict");
  // Exit 6 is a problem of error severity; warnings are printed as text.
  checks.equal(`${era}: tools/list --strict ends with`, listed.code, 0);
  checks.check(`${era}: no complaint about any schema`, !/warning|error/i.test(listed.stderr), listed.stderr);
  const tools = listed.answer?.tools ?? [];
  checks.check(`${era}: there are tools`, tools.length >= 5, tools.length);
  for (const tool of tools) {
    const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    checks.check(`${era}: ${tool.name} has all annotations`, hints.every((hint) => typeof tool.annotations?.[hint] === "boolean"), tool.annotations);
    checks.check(`${era}: ${tool.name} has an output schema`, tool.outputSchema?.type === "object", tool.outputSchema);
  }
  const call = (name, args) =>
    inspector("--protocol-era", era, "--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  const stored = await call("memory_store", { content: `The ${era} inspector looked in at noon.`, title: `${era} inspector` });
  checks.equal(`${era}: outcome`, stored.answer?.structuredContent?.outcome, "stored");
  const recalled = await call("memory_recall", { query: `When did the ${era} inspector look in?` });
  checks.equal(`${era}: the best match`, recalled.answer?.structuredContent?.items?.[0]?.id, stored.answer?.structuredContent?.id);
  const refused = await call("memory_recall", { query: "x", limit: 0 });
  // The inspector ends with 5 where a tool says that it failed.
  checks.check(`${era}: a wrong limit is refused by name`, refused.code !== 0 && /BAD_USER_INPUT: limit/.test(refused.stderr), refused);
}
checks.close();
