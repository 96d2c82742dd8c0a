// Global setup: the Python packages of these tests (requirements.txt).
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { pythonVenv } from "../clients/python-venv.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Folder of the virtual environment. */
    readonly destinationsVenv: string;
  }
}

export default async (project: TestProject): Promise<void> => {
  project.provide("destinationsVenv", await pythonVenv("destinations", join(import.meta.dirname, "requirements.txt")));
};
