// Loads extensions of DuckDB; no other file does. It runs in the separate process of extended/program.ts. The mirror's own
// databases and the processes of users' SQL load none.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../../core/text/sql-text.ts";

type Run = (sql: string) => Promise<unknown>;

/** The extension is not in the folder, and DuckDB cannot download it. */
export class ExtensionMissing extends Error {
  readonly extension: string;

  constructor(extension: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.extension = extension;
  }
}

/** Loads a file of `folder`, else an extension that DuckDB has installed; else DuckDB downloads it. Throws ExtensionMissing. */
const loadExtension = async (run: Run, name: string, folder: string | undefined): Promise<void> => {
  const file = folder === undefined ? null : join(folder, `${name}.duckdb_extension`);
  try {
    if (file !== null && existsSync(file)) await run(`LOAD ${literal(file)}`);
    else await run(`LOAD ${name}`).catch(() => run(`INSTALL ${name}`).then(() => run(`LOAD ${name}`)));
  } catch (error) {
    throw new ExtensionMissing(name, error);
  }
};

/** Loads extensions in this order. `folder`: files NAME.duckdb_extension, or DuckDB's layout. Throws ExtensionMissing. */
export const loadExtensions = async (run: Run, names: readonly string[], folder: string | undefined): Promise<void> => {
  if (folder !== undefined) await run(`SET extension_directory = ${literal(folder)}`);
  for (const name of names) await loadExtension(run, name, folder);
};
