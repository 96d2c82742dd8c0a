// Tests that need nothing of Linux, for .github/workflows/systems.yml. vitest.config.ts would look for a Redis first.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/src/core/{system,secret,time,clock}.test.ts", "test/src/warehouse/duckdb/duck-errors.test.ts"],
    setupFiles: ["test/setup/end-children.ts", "test/setup/end-of-test.ts"],
  },
});
