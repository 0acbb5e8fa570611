// GraphiQL on /graphql of this service. The token comes from the link (#token=…), goes into the header editor and out of
// the address bar, and is kept for this tab only.

import './workers.js';
import { createGraphiQLFetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { createClient } from 'graphql-ws';
import { createRoot } from 'react-dom/client';
import examples from 'examples';
import 'graphiql/style.css';
import './playground.css';

const TOKEN = 'recollect:token';

function tokenOfLink() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token');
  if (given) {
    // Tabs of an earlier token would bring that one.
    sessionStorage.clear();
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  return given ?? sessionStorage.getItem(TOKEN) ?? '';
}

const token = tokenOfLink();
const headers = JSON.stringify({ Authorization: `Bearer ${token || 'TOKEN'}` }, null, 2);
const endpoint = new URL('graphql', location.href);
const socket = new URL(endpoint);
socket.protocol = endpoint.protocol.replace('http', 'ws');

// What the header editor says now: a socket that is opened later must bring it too.
let typed = headers;

function authorization() {
  try {
    const given = JSON.parse(typed);
    const name = Object.keys(given).find((key) => key.toLowerCase() === 'authorization');
    return name ? given[name] : '';
  } catch {
    return '';
  }
}

const wsClient = createClient({
  url: socket.href,
  lazy: true,
  // A closed subscription says so; it does not knock again with a token that was refused.
  retryAttempts: 0,
  connectionParams: () => ({ Authorization: authorization() }),
});
const http = createGraphiQLFetcher({ url: endpoint.href, wsClient });
const fetcher = (params, options) => {
  if (options?.headers) typed = JSON.stringify(options.headers);
  return http(params, {
    ...options,
    headers: { accept: 'application/graphql-response+json', ...options?.headers },
  });
};

const tabs = examples.map((query) => ({ query, headers }));

createRoot(document.getElementById('playground')).render(
  <GraphiQL
    fetcher={fetcher}
    defaultTabs={tabs}
    defaultHeaders={headers}
    initialHeaders={headers}
    shouldPersistHeaders
    defaultEditorToolsVisibility="headers"
    onEditHeaders={(value) => {
      typed = value;
    }}
    // Nothing outlives the browser's tab: the headers hold the token.
    storage={sessionStorage}
  >
    <GraphiQL.Logo>recollect</GraphiQL.Logo>
  </GraphiQL>,
);
