// Bundles the playground into dist/: one script, one style sheet, three workers, and the licences of what is in them.
// Nothing is fetched at run time.
//
// The operations of graphql/operations become ready tabs: each file's first line is its title.

import { build } from 'esbuild';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');
const operations = join(here, '../../graphql/operations');

/** Makes the files of graphql/operations a module: a list of their texts, by name. */
const examples = {
  name: 'examples',
  setup(build) {
    build.onResolve({ filter: /^examples$/ }, () => ({ path: 'examples', namespace: 'examples' }));
    build.onLoad({ filter: /.*/, namespace: 'examples' }, () => {
      const files = readdirSync(operations).filter((name) => name.endsWith('.graphql')).sort();
      const texts = files.map((name) => readFileSync(join(operations, name), 'utf8'));
      return { contents: JSON.stringify(texts), loader: 'json' };
    });
  },
};

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const shared = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  define: { 'process.env.NODE_ENV': '"production"' },
  // LICENSES.txt has them whole.
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};
const page = await build({
  ...shared,
  entryPoints: { playground: 'src/main.jsx' },
  outdir: dist,
  jsx: 'automatic',
  loader: { '.ttf': 'file', '.woff': 'file', '.woff2': 'file' },
  assetNames: '[name]',
  plugins: [examples],
});
const workers = await build({
  ...shared,
  // Workers are started as classic scripts.
  format: 'iife',
  entryPoints: {
    'editor.worker': 'monaco-editor/esm/vs/editor/editor.worker.js',
    'json.worker': 'monaco-editor/esm/vs/language/json/json.worker.js',
    'graphql.worker': 'monaco-graphql/esm/graphql.worker.js',
  },
  outdir: dist,
});
cpSync(join(here, 'src/index.html'), join(dist, 'index.html'));

const inputs = [page, workers].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const packages = new Set(inputs.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]).filter(Boolean));
const licences = [...packages].sort().map((path) => {
  const { name, version, license } = JSON.parse(readFileSync(join(here, path, 'package.json'), 'utf8'));
  const file = readdirSync(join(here, path)).find((name) => /^licen[cs]e/i.test(name));
  const text = file ? readFileSync(join(here, path, file), 'utf8').trim() : '';
  return `${name} ${version} (${license})\n\n${text}\n`;
});
writeFileSync(join(dist, 'LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n`));
