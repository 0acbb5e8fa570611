// The graphql-ws client: subscribes, hears of what is stored, goes on from a position, is refused without a token.
//
// Usage: node subscriptions.mjs BINARY

import assert from 'node:assert';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { run, start } from './service.mjs';

const service = await start(process.argv[2]);
const client = (token) =>
  createClient({
    url: `${service.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { Authorization: `Bearer ${token}` },
  });

const store = async (content, token = service.tokens.agent) => {
  const query = 'mutation($content: String!) { storeMemory(input: {content: $content}) { memory { id } } }';
  const response = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { content } }),
  });
  return (await response.json()).data.storeMemory.memory.id;
};

const CHANGES = 'subscription($after: String) { memoryChanged(after: $after) { position effect id memory { content } } }';
const within = (promise, what) =>
  Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error(`no ${what} in time`)), 10_000))]);

/** Waits until a socket has taken what was asked on it before. */
const settled = async (ws) => {
  for await (const result of ws.iterate({ query: '{ me { principal } }' })) return result.data.me.principal;
};

const tests = [
  [
    'a query over the socket is answered once',
    async () => {
      const ws = client(service.tokens.agent);
      const results = [];
      for await (const result of ws.iterate({ query: '{ me { principal } }' })) results.push(result);
      assert.deepEqual(results, [{ data: { me: { principal: 'agent' } } }]);
      await ws.dispose();
    },
  ],
  [
    'what is stored is told, and nothing of another principal',
    async () => {
      const [mine, theirs] = [client(service.tokens.agent), client(service.tokens.reviewer)];
      const changes = mine.iterate({ query: CHANGES });
      const others = theirs.iterate({ query: CHANGES });
      const [next, other] = [changes.next(), others.next()];
      await Promise.all([settled(mine), settled(theirs)]);
      const id = await store('The bakery opens at six.');
      const { value } = await within(next, 'change');
      assert.deepEqual(value.data.memoryChanged.memory, { content: 'The bakery opens at six.' });
      assert.deepEqual([value.data.memoryChanged.id, value.data.memoryChanged.effect], [id, 'CREATED']);
      const own = await store('The mill closes at noon.', service.tokens.reviewer);
      assert.equal((await within(other, 'change of the other')).value.data.memoryChanged.id, own);
      await Promise.all([changes.return(), others.return()]);
      await Promise.all([mine.dispose(), theirs.dispose()]);
    },
  ],
  [
    'a client that comes back misses nothing',
    async () => {
      await store('First of two.');
      await store('Second of two.');
      const ws = client(service.tokens.agent);
      const changes = ws.iterate({ query: CHANGES, variables: { after: '0' } });
      const seen = [];
      while (!seen.includes('Second of two.')) {
        const { value } = await within(changes.next(), 'earlier change');
        seen.push(value.data.memoryChanged.memory.content);
      }
      assert.deepEqual(seen.slice(-2), ['First of two.', 'Second of two.']);
      await changes.return();
      await ws.dispose();
    },
  ],
  [
    'a wrong operation is an error with its code, and the socket stays',
    async () => {
      const ws = client(service.tokens.agent);
      const refused = await new Promise((resolve, reject) =>
        ws.subscribe({ query: 'subscription { nothing }' }, { next: reject, error: resolve, complete: reject }),
      );
      assert.equal(refused[0].extensions.code, 'BAD_USER_INPUT');
      assert.equal(await settled(ws), 'agent');
      await ws.dispose();
    },
  ],
  [
    'without a valid token the socket is closed with 4403',
    async () => {
      const ws = client('rcl_nonsense');
      const closed = await new Promise((resolve, reject) =>
        ws.subscribe({ query: CHANGES }, { next: reject, error: resolve, complete: reject }),
      );
      assert.equal(closed.code, 4403);
    },
  ],
];
const good = await run('graphql-ws', tests);
await service.stop();
process.exit(good ? 0 : 1);
