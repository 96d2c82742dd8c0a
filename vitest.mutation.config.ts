// Vitest for mutation testing: only the tests of what is mutated, none that start a service or Redis.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: [
      "test/src/sync/list/{coverage,ways}/*.test.ts",
      "test/src/budget/{credits/{ledger,ledger-decisions,roll-over},rate/{limiter,flights}}.test.ts",
    ],
    env: { DUCKMIRROR_PROPERTY_RUNS: "6" },
    testTimeout: 20_000,
    pool: "threads",
    maxWorkers: 1,
  },
});
