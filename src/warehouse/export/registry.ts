// Export folders that a user named. They are remembered because `forget` must erase people from them too.
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { exportDir } from "../../core/data-dir.ts";
import { hasSystemCode } from "../../core/errors.ts";
import { appendOwn, makeOwnFolder, readOwnIfThere } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { EXPORT_FORMATS } from "./tables.ts";

const entry = z.object({ dir: z.string() });
const registry = (dataDir: string) => join(dataDir, "state", "exports.ndjson");

const readRegistry = async (dataDir: string): Promise<readonly string[]> => {
  const text = (await readOwnIfThere(registry(dataDir))) ?? "";
  // A crash may cut a line off; the next one then follows it on the same line. Inside JSON a quote is escaped.
  return text.split(/\n|(?=\{"dir":)/).flatMap((line) => entry.safeParse(jsonOrNull(line)).data?.dir ?? []);
};

export const isInside = (dataDir: string, dir: string) => relative(dataDir, dir).split(sep)[0] !== "..";

const defaultFolders = (dataDir: string): readonly string[] =>
  EXPORT_FORMATS.map((format) => exportDir(dataDir, format));

/** Remembers a folder, unless it is one of the default ones. `dir`: absolute. */
export const rememberExport = async (dataDir: string, dir: string): Promise<void> => {
  if (defaultFolders(dataDir).includes(dir) || (await readRegistry(dataDir)).includes(dir)) return;
  try {
    makeOwnFolder(join(dataDir, "state"));
    appendOwn(registry(dataDir), `${JSON.stringify({ dir })}\n`);
  } catch (error) {
    // Exporting is allowed without write access to the data directory. `forget --export-dir` must then name the
    // folder.
    if (!hasSystemCode(error, "EACCES", "EROFS", "EPERM")) throw error;
  }
};

/** Every folder that may hold an export: the default ones and the remembered ones. */
export const exportFolders = async (dataDir: string): Promise<readonly string[]> => [
  ...defaultFolders(dataDir),
  ...(await readRegistry(dataDir)),
];
