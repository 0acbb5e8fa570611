// The editor's workers, as files of this service.

const NAMES = { json: 'json', graphql: 'graphql' };

globalThis.MonacoEnvironment = {
  getWorker(_id, label) {
    const name = NAMES[label] ?? 'editor';
    return new Worker(new URL(`playground/${name}.worker.js`, document.baseURI));
  },
};
