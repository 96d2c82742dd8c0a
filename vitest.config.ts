import { configDefaults, defineConfig } from "vitest/config";

const acceptance = "test/acceptance/**/*.test.ts";
// These have commands of their own: `npm run test:clients` and `npm run test:destinations` need Python packages and servers,
// `npm run test:long` takes long.
const elsewhere = [
  "test/clients/**/*.test.ts",
  "test/destinations/**/*.test.ts",
  "test/long/**/*.test.ts",
  "test/second-server/**/*.test.ts",
  "test/**/*.long.test.ts",
];
// These leave nothing running behind, so they may share processes: a process of its own costs each file half a second of
// processor time, and again what its code costs until it is compiled.
const sharing = [
  "test/src/{api,budget,catalog,cli,core,deliver,library,replica,sandbox,server,sync,telemetry,warehouse}/**/*.test.ts",
  "test/src/queue/{*,asking/*,schedules/*,fleet/pauses,redis/taken-job,worker/progress-book,syncs/*,syncs/local/{in-order,known-syncs},syncs/redis/asked-keys}.test.ts",
  "test/src/alerts/{message,events/conditions,sending/public-address,store/rule-store}.test.ts",
  "test/{bench,jobs}/**/*.test.ts",
  "test/{architecture,deploy}.test.ts",
];
const redis = "test/support/redis-available.ts";
const folder = "test/setup/one-folder.ts";

export default defineConfig({
  test: {
    // A test waits for events. These limits are a last resort for one that hangs, wide enough for a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    // Every process reads the compiled modules from node_modules: 17% less processor time where each file has its own.
    experimental: { fsModuleCache: true },
    setupFiles: ["test/setup/end-children.ts", "test/setup/end-of-test.ts"],
    // Two cores are the reference machine; files wait for rates, disks and processes, so four go well together.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, acceptance, ...sharing, ...elsewhere],
          globalSetup: [folder, redis],
        },
      },
      {
        extends: true,
        test: {
          name: "sharing",
          include: sharing,
          exclude: [...configDefaults.exclude, ...elsewhere],
          globalSetup: [folder, redis],
          isolate: false,
        },
      },
      // These run the built program; it is built once, before the first of them.
      {
        extends: true,
        test: {
          name: "acceptance",
          include: [acceptance],
          exclude: [...configDefaults.exclude, ...elsewhere],
          globalSetup: [folder, redis, "test/acceptance/build-once.ts"],
        },
      },
    ],
  },
});
