// Counts what holds and what does not, says what does not, and closes with the line that scripts/run-tests reads.

import { isDeepStrictEqual } from "node:util";

export class Checks {
  #passed = 0;
  #failed = 0;

  constructor(name) {
    this.name = name;
  }

  check(what, holds, seen) {
    if (holds) {
      this.#passed += 1;
      return;
    }
    this.#failed += 1;
    console.error(`${this.name}: failed: ${what}${seen === undefined ? "" : `: ${JSON.stringify(seen)?.slice(0, 600)}`}`);
  }

  equal(what, seen, expected) {
    this.check(`${what} is ${JSON.stringify(expected)}`, isDeepStrictEqual(seen, expected), seen);
  }

  // Runs one part; an exception is a failure of it and not of those after it.
  async part(what, work) {
    try {
      await work();
    } catch (error) {
      this.check(what, false, String(error?.stack ?? error));
    }
  }

  close() {
    console.log(`${this.name}: ${this.#passed} passed, ${this.#failed} failed`);
    process.exit(this.#failed === 0 && this.#passed > 0 ? 0 : 1);
  }
}
