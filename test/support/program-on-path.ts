// Finds programs of this machine.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** Path of a program on the PATH; null when there is none of that name. */
export const programOnPath = (name: string): string | null =>
  (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram) ?? null;
