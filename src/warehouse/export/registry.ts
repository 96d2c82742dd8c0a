// Which folders the mirror was exported to, beside those in the data directory: who is forgotten must go from them too.
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { z } from "zod";
import { exportDir } from "../../core/data-dir.ts";
import { EXPORT_FORMATS } from "./tables.ts";

const entry = z.object({ dir: z.string() });
const registry = (dataDir: string) => join(dataDir, "state", "exports.ndjson");

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

const readRegistry = async (dataDir: string): Promise<readonly string[]> => {
  const text = await readFile(registry(dataDir), "utf8").catch((error: unknown) => {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "";
    throw error;
  });
  return text.split("\n").flatMap((line) => {
    // A line that a crash tore is no folder.
    const parsed = line.endsWith("}") ? entry.safeParse(JSON.parse(line)) : null;
    return parsed?.success ? [parsed.data.dir] : [];
  });
};

const isInside = (dataDir: string, dir: string) => relative(dataDir, dir).split(sep)[0] !== "..";

/** Remembers a folder outside the data directory. `dir`: absolute. */
export const rememberExport = async (dataDir: string, dir: string): Promise<void> => {
  if (isInside(dataDir, dir) || (await readRegistry(dataDir)).includes(dir)) return;
  try {
    await mkdir(join(dataDir, "state"), { recursive: true, mode: 0o700 });
    await appendFile(registry(dataDir), `${JSON.stringify({ dir })}\n`, { mode: 0o600 });
  } catch (error) {
    // Whoever may only read the mirror may export it all the same: `forget --export-dir` names the folder then.
    if (!hasCode(error, "EACCES", "EROFS", "EPERM")) throw error;
  }
};

/** Every folder that may hold an export: those of the data directory, and those remembered. */
export const exportFolders = async (dataDir: string): Promise<readonly string[]> => [
  ...EXPORT_FORMATS.map((format) => exportDir(dataDir, format)),
  ...(await readRegistry(dataDir)),
];
