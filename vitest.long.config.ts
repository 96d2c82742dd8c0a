// `npm run test:long`: kills, crashes, faults, attacks, the page in a browser, long histories (`*.long.test.ts`), and many
// more cases of the tests that draw them. Apart from `npm test`, which must be short enough to run before every commit;
// `.ci/run` calls both.
import { configDefaults, defineConfig } from "vitest/config";

const { env } = process;

// As in vitest.config.ts: these leave nothing running behind, so they may share processes.
const sharing = [
  "test/jobs/**/*.long.test.ts",
  "test/src/{budget,sandbox,sync,warehouse}/**/*.long.test.ts",
  // These draw their cases; here they draw more.
  "test/second-server/**/*.test.ts",
  "test/src/queue/syncs/sync-life.test.ts",
  "test/src/sync/simulation.test.ts",
  "test/src/sync/list/ways/walk.test.ts",
  "test/src/warehouse/load/load-batch.test.ts",
  "test/src/warehouse/read/changes/read-changes.test.ts",
];

export default defineConfig({
  test: {
    env: {
      SECOND_SEEDS: env.SECOND_SEEDS ?? "80",
      SECOND_FILES: env.SECOND_FILES ?? "2",
      FEED_CASES: env.FEED_CASES ?? "12",
      DUCKMIRROR_LIFE_HISTORIES: env.DUCKMIRROR_LIFE_HISTORIES ?? "200",
      LOAD_CASES: env.LOAD_CASES ?? "40",
      SIMULATIONS: env.SIMULATIONS ?? "250",
      DUCKMIRROR_PROPERTY_RUNS: env.DUCKMIRROR_PROPERTY_RUNS ?? "1000",
    },
    // A last resort for a test that hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    experimental: { fsModuleCache: true },
    setupFiles: ["test/setup/end-children.ts", "test/setup/end-of-test.ts"],
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: "processes",
          include: ["test/long/**/*.test.ts", "test/**/*.long.test.ts"],
          exclude: [...configDefaults.exclude, ...sharing],
          globalSetup: [
            "test/setup/one-folder.ts",
            "test/support/redis-available.ts",
            "test/browser/chromium-available.ts",
            "test/acceptance/build-once.ts",
          ],
        },
      },
      {
        extends: true,
        test: {
          name: "sharing",
          include: sharing,
          globalSetup: ["test/setup/one-folder.ts", "test/support/redis-available.ts", "test/acceptance/build-once.ts"],
          isolate: false,
        },
      },
    ],
  },
});
