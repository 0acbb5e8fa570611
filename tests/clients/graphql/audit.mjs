// The audit of graphql-http: every MUST and SHOULD of the GraphQL-over-HTTP specification. A MAY may be declined.
//
// Usage: node audit.mjs BINARY

import assert from 'node:assert';
import { serverAudits } from 'graphql-http';
import { run, start } from './service.mjs';

const service = await start(process.argv[2]);
const fetchFn = (address, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${service.tokens.admin}`);
  return fetch(address, { ...init, headers });
};
const audits = serverAudits({ url: `${service.url}/graphql`, fetchFn });
const tests = audits.map((audit) => [
  audit.name,
  async () => {
    const result = await audit.fn();
    if (result.status === 'ok') return;
    if (audit.name.startsWith('MAY')) return console.log(`graphql-http: declined: ${audit.name}: ${result.reason}`);
    assert.fail(`${result.reason}`);
  },
]);
const good = await run('graphql-http', tests);
await service.stop();
process.exit(good ? 0 : 1);
