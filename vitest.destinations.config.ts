// `npm run test:destinations`: deliveries to real destinations, killed at random moments. Apart from `npm test`, since it
// installs what they need (docs/DESTINATIONS.md). KILLS=200 for more kills.
import { defineConfig } from "vitest/config";

const KILLS = Number(process.env.KILLS ?? "4");

export default defineConfig({
  test: {
    include: ["test/destinations/**/*.test.ts"],
    // A last resort for a destination that hangs.
    testTimeout: 600_000 + KILLS * 60_000,
    hookTimeout: 600_000,
    pool: "forks",
    maxWorkers: 4,
    globalSetup: [
      "test/setup/one-folder.ts",
      "test/acceptance/build-once.ts",
      "test/destinations/python-installed.ts",
      "test/destinations/azurite-installed.ts",
      "test/destinations/postgres-available.ts",
      "test/destinations/extensions-available.ts",
    ],
  },
});
