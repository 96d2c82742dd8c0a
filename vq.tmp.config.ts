import { defineConfig } from "vitest/config";
export default defineConfig({ test: { root: "/work/deliver-ducklake", include: ["test/destinations/**/*.test.ts"], testTimeout: 600000, hookTimeout: 600000, pool: "forks", globalSetup: ["test/setup/one-folder.ts", "test/acceptance/build-once.ts", "test/destinations/extensions-available.ts"] } });
