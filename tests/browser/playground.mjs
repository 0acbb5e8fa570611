// The playground in Chromium: the token of the link, a query, a mutation, a subscription; nothing from elsewhere, no error.
//
// Usage: node playground.mjs BINARY CHROMIUM SAMPLE

import assert from 'node:assert';
import { chromium } from 'playwright-core';
import { run, start } from '../clients/graphql/service.mjs';

const [binary, executablePath, sample] = process.argv.slice(2);
const service = await start(binary, ['--seed', sample]);
const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });

const elsewhere = [];
const complaints = [];

/** A page of its own, at an address of the service. */
async function open(path) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const page = await context.newPage();
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(service.url) && !url.startsWith('data:') && !url.startsWith('blob:')) elsewhere.push(url);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`${error.stack ?? error}`));
  await page.goto(service.url + path);
  return page;
}

/** Opens the tab of an example, and waits until its editors hold it: what is played before is the tab that was left. */
async function tab(page, name) {
  await page.locator('button.graphiql-tab-button').filter({ hasText: new RegExp(`^${name}$`) }).click();
  await page.locator('.graphiql-query-editor .view-lines').filter({ hasText: name }).waitFor();
  await page.waitForTimeout(500);
}
const play = (page) => page.locator('button.graphiql-execute-button').click();

/** What the response editor shows, once it has `text`. */
async function response(page, text) {
  const shown = page.locator('.graphiql-response');
  await shown.getByText(text).first().waitFor({ timeout: 15_000 });
  return shown.innerText();
}

const link = `/playground#token=${service.tokens.admin}`;
const tests = [
  [
    'the front page hands the token of its link on',
    async () => {
      const page = await open(`/#token=${service.tokens.admin}`);
      await page.getByRole('link', { name: '/playground' }).click();
      await page.locator('button.graphiql-execute-button').waitFor();
      assert.equal(await page.evaluate(() => location.hash), '');
      await tab(page, 'Status');
      await play(page);
      await response(page, '"principal": "admin"');
      await page.context().close();
    },
  ],
  [
    'the token leaves the address bar, stands in the headers and survives a reload',
    async () => {
      const page = await open(link);
      await page.locator('button.graphiql-execute-button').waitFor();
      assert.equal(page.url(), `${service.url}/playground`);
      await page.locator('.graphiql-editor-tool').getByText(service.tokens.admin.slice(0, 20)).first().waitFor();
      await page.reload();
      await page.locator('.graphiql-editor-tool').getByText(service.tokens.admin.slice(0, 20)).first().waitFor();
      assert.equal(await page.evaluate(() => localStorage.length), 0);
      await page.context().close();
    },
  ],
  [
    'every example is a tab, and a query is answered',
    async () => {
      const page = await open(link);
      await page.locator('button.graphiql-execute-button').waitFor();
      const names = await page.getByRole('tab').allInnerTexts();
      for (const name of ['Recall', 'Associate', 'Memories', 'StoreMemory', 'MemoryChanged', 'AuditLog']) {
        assert.ok(names.includes(name), `${name} among ${names}`);
      }
      await tab(page, 'Recall');
      await play(page);
      await response(page, '"recall"');
      await page.context().close();
    },
  ],
  [
    'a mutation changes the memory, and a subscription tells of it',
    async () => {
      const [watching, writing] = [await open(link), await open(link)];
      await tab(watching, 'MemoryChanged');
      await play(watching);
      await tab(writing, 'StoreMemory');
      // The subscription counts from when it is taken; store until it tells.
      await watching.waitForTimeout(500);
      await play(writing);
      await response(writing, '"STORED"');
      await response(watching, 'lantern festival sale');
      await watching.context().close();
      await writing.context().close();
    },
  ],
  [
    'the documentation of the schema is there',
    async () => {
      const page = await open(link);
      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).first().click();
      await page.getByText('Everything that can be asked of the memory.').first().waitFor();
      await page.context().close();
    },
  ],
  ['nothing was asked of another host', () => assert.deepEqual(elsewhere, [])],
  ['the console has no error and no warning', () => assert.deepEqual(complaints, [])],
];
const good = await run('playground', tests);
await browser.close();
await service.stop();
process.exit(good ? 0 : 1);
