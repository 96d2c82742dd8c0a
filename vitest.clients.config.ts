// `npm run test:clients`: the recipes of docs/integrations and the package itself, in the hands of real clients. Apart from
// `npm test`, since it installs Python packages, five versions of Node and promtool (docs/integrations/README.md).
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/clients/**/*.test.ts"],
    // A last resort for a client that hangs.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    pool: "forks",
    maxWorkers: 2,
    setupFiles: ["test/setup/end-children.ts", "test/setup/end-of-test.ts"],
    globalSetup: [
      "test/support/redis-available.ts",
      "test/acceptance/build-once.ts",
      "test/clients/clients-installed.ts",
    ],
  },
});
