// `npm run test:long`: kills, attacks, a real minute of requests, and many more seeds of the tests that draw their cases.
// Apart from `npm test`, which must be short enough to run before every commit; `.ci/run` calls both.
import { defineConfig } from "vitest/config";

const { env } = process;

export default defineConfig({
  test: {
    include: ["test/long/**/*.test.ts", "test/second-server/**/*.test.ts", "test/src/sync/simulation.test.ts"],
    env: {
      SECOND_SEEDS: env.SECOND_SEEDS ?? "60",
      SIMULATIONS: env.SIMULATIONS ?? "1000",
    },
    // A last resort for a test that hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    setupFiles: ["test/setup/end-children.ts"],
    maxWorkers: 3,
    globalSetup: ["test/setup/one-folder.ts", "test/support/redis-available.ts", "test/acceptance/build-once.ts"],
  },
});
