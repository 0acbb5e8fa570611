// A recollect of its own for a runner (a data folder that goes with it, a free port, the hashing embedder), and its tests:
// each has a name, and the last line counts them as scripts/run-tests reads it.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const CONFIG = '[[models.embedders]]\nname = "hashing"\nkind = "hashing"\n';

/** Starts `binary serve`; where it is, its tokens, and how to stop it. */
export async function start(binary, args = []) {
  const home = mkdtempSync(join(tmpdir(), 'recollect-'));
  const config = join(home, 'config.toml');
  writeFileSync(config, CONFIG);
  const data = join(home, 'data');
  const child = spawn(binary, ['--config', config, '--data', data, 'serve', '--listen', '127.0.0.1:0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const found = /(http:\/\/\S+?)\/?$/.exec(line);
      if (line.startsWith('recollect serves at') && found) resolve(found[1]);
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  const tokens = JSON.parse(readFileSync(join(data, 'tokens.json'), 'utf8'));
  const stop = async () => {
    child.removeAllListeners('exit');
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true, force: true });
  };
  return { url, tokens, stop };
}

/** Runs the tests one after the other and ends the process. */
export async function run(name, tests) {
  let passed = 0;
  let failed = 0;
  for (const [sentence, test] of tests) {
    try {
      await test();
      passed += 1;
    } catch (error) {
      failed += 1;
      console.error(`${name}: ${sentence}: FAILED\n${error?.stack ?? error}`);
    }
  }
  console.log(`${name}: ${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0;
}
