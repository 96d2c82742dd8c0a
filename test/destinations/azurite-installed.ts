// Global setup: azurite, Microsoft's emulator of Azure Storage, in a cache folder. It is no dependency of the project,
// because it has 370 packages of 190 MB. Newer versions than this need Node 22.
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { runWell } from "../clients/programs.ts";
import { kept } from "../clients/python-venv.ts";

const VERSION = "3.35.0";

declare module "vitest" {
  interface ProvidedContext {
    /** Program of the emulator of blobs, for Node. */
    readonly azurite: string;
  }
}

export default async (project: TestProject): Promise<void> => {
  const folder = await kept("azurite", VERSION, (dir) =>
    runWell("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", dir, `azurite@${VERSION}`]),
  );
  project.provide("azurite", join(folder, "node_modules/azurite/dist/src/blob/main.js"));
};
