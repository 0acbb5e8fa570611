// The TypeScript SDK: a memory's way through the tools, over each transport and under each version of the protocol.
//
// Usage: node sdk.mjs URL TOKEN BINARY CONFIG DATA

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { Checks } from "./checks.mjs";

const [url, token, binary, config, data] = process.argv.slice(2);
const checks = new Checks("mcp-sdk-typescript");

const transports = {
  http: () => new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
  stdio: () => new StdioClientTransport({ command: binary, args: ["--config", config, "--data", data, "mcp"], stderr: "ignore" }),
  bridge: () => new StdioClientTransport({ command: binary, args: ["mcp", "--url", url], env: { RECOLLECT_TOKEN: token }, stderr: "ignore" }),
};
const versions = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };

async function walk(where, version, client) {
  const subject = `harbour of ${where} ${version}`;
  const call = async (name, args) => {
    const result = await client.callTool({ name, arguments: args });
    checks.check(`${where} ${version}: ${name} succeeds`, !result.isError, result);
    const text = JSON.parse(result.content[0].text);
    checks.equal(`${where} ${version}: ${name} says the same twice`, text, result.structuredContent);
    return result.structuredContent;
  };
  const listed = (await client.listTools()).tools.map((tool) => tool.name);
  for (const name of ["memory_store", "memory_recall", "memory_associate", "memory_get", "memory_forget"]) {
    checks.check(`${where} ${version}: ${name} is listed`, listed.includes(name), listed);
  }
  const cause = await call("memory_store", { content: `A storm closed the ${subject}.`, title: subject, kind: "episodic" });
  checks.equal(`${where} ${version}: the cause is`, cause.outcome, "stored");
  const effect = await call("memory_store", { content: `Vegetables were late on Monday (${version}, ${where}).`, caused_by: [cause.id] });
  const recalled = await call("memory_recall", { query: `What closed the ${subject}?`, limit: 3 });
  checks.equal(`${where} ${version}: the best match`, recalled.items[0]?.id, cause.id);
  const reached = await call("memory_associate", { ids: [cause.id], edges: ["CAUSES"] });
  checks.equal(`${where} ${version}: the effect is reached`, reached.items.map((item) => item.id), [effect.id]);
  checks.equal(`${where} ${version}: over the edge`, reached.items[0]?.path?.[0]?.edge, "CAUSES");
  let beats = 0;
  await client.callTool({ name: "memory_recall", arguments: { query: subject } }, { onprogress: () => (beats += 1) });
  checks.check(`${where} ${version}: progress is told`, beats >= 1, beats);
  const resource = await client.readResource({ uri: `memory://${cause.id}` });
  checks.check(`${where} ${version}: a memory is a resource`, resource.contents[0]?.text?.includes("A storm closed"), resource);
  const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  checks.check(`${where} ${version}: prompts are listed`, prompts.includes("recall_brief"), prompts);
  const read = await call("memory_get", { ids: [cause.id, effect.id] });
  checks.equal(`${where} ${version}: read in full`, read.memories.map((memory) => memory.id), [cause.id, effect.id]);
  const wrong = await client.callTool({ name: "memory_recall", arguments: { query: "x", limit: 0 } });
  checks.check(`${where} ${version}: a wrong limit is named`, wrong.isError && wrong.content[0].text.startsWith("BAD_USER_INPUT: limit"), wrong);
  const unknown = await client.callTool({ name: "memory_burn", arguments: {} }).then((result) => ({ result }), (error) => error);
  checks.equal(`${where} ${version}: an unknown tool is an error`, unknown.code, -32602);
  const forgotten = await call("memory_forget", { ids: [cause.id, effect.id], reason: "the walk is over" });
  checks.equal(`${where} ${version}: forgotten`, forgotten.forgotten, 2);
  const after = await call("memory_recall", { query: `What closed the ${subject}?`, mode: "keyword" });
  checks.check(`${where} ${version}: nothing is left of it`, !after.items.some((item) => item.id === cause.id), after.items);
}

for (const [where, transport] of Object.entries(transports)) {
  for (const [version, mode] of Object.entries(versions)) {
    await checks.part(`${where} ${version}: the walk`, async () => {
      const client = new Client({ name: "recollect-tests", version: "1" }, { versionNegotiation: { mode } });
      await client.connect(transport());
      try {
        checks.check(`${where} ${version}: instructions are given`, client.getInstructions()?.includes("memory_recall"));
        await walk(where, version, client);
      } finally {
        await client.close();
      }
    });
  }
}
await checks.part("http: a wrong token", async () => {
  const client = new Client({ name: "recollect-tests", version: "1" });
  const refused = await client
    .connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: "Bearer rcl_wrong" } } }))
    .then(() => "connected", (error) => error);
  checks.check("http: a wrong token is refused by name", /UNAUTHENTICATED/.test(String(refused)), String(refused));
});
checks.close();
