// Runs a user's SQL on a lake, for `query --from DESTINATION`: attached read-only, in the separate process of a DuckDB with extensions, which
// reads the lake's files and no others. extended/program.ts refuses statements that write.
import { existsSync } from "node:fs";
import { z } from "zod";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";
import {
  type Answered,
  type ExtendedDuckdb,
  openExtended,
} from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import { LAKE, lakeAddress, openingOf } from "./lake-address.ts";

export interface LakeQuestion {
  readonly sql: string;
  /** DuckDB size text. */
  readonly memoryLimit: string;
  /** Kills the process. */
  readonly signal: AbortSignal;
}

const pathRow = z.array(z.object({ value: z.string() }));

/** Keeps all later statements from opening other files than the lake's, and from changing a setting. */
const lockDown = async (lake: ExtendedDuckdb, catalogFile: string | null): Promise<void> => {
  const found = await lake.run(
    `SELECT value FROM __ducklake_metadata_${LAKE}.ducklake_metadata WHERE key = 'data_path'`,
  );
  const folders = pathRow.parse(found).map(({ value }) => literal(value));
  await lake.run(`SET allowed_directories = [${folders.join(", ")}]`);
  if (catalogFile !== null) await lake.run(`SET allowed_paths = [${literal(catalogFile)}]`);
  await lake.run("SET enable_external_access = false");
  await lake.run("SET lock_configuration = true");
};

/**
 * Runs the statement and streams its rows to `use`. Throws DESTINATION_AWAY, EXTENSION_MISSING, EXTENSION_CLIENT_MISSING,
 * QUERY_FAILED, QUERY_LIMIT, USAGE, the signal's reason, or the error of `use`.
 */
export const queryLake = async <T>(
  settings: SettingsOf<"ducklake">,
  { sql, memoryLimit, signal }: LakeQuestion,
  use: (answer: Answered) => Promise<T>,
): Promise<T> => {
  const { name, schema } = settings;
  const address = lakeAddress(settings, existsSync);
  const { readSql, catalogFile } = address;
  const lake = await openExtended(openingOf(settings, address, memoryLimit), signal);
  const failAs = (code: "DESTINATION_AWAY" | "QUERY_FAILED") => (error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof DuckmirrorError) throw error;
    throw new DuckmirrorError(code, { name, detail: detailOf(error) }, { cause: error });
  };
  const attach = async () => {
    await lake.run("SET temp_directory = ''");
    await lake.run(readSql);
    await lake.run(`USE ${LAKE}.${quoted(schema)}`);
    await lockDown(lake, catalogFile);
  };
  try {
    await attach().catch(failAs("DESTINATION_AWAY"));
    return await lake.query(sql, use).catch(failAs("QUERY_FAILED"));
  } finally {
    await lake.close();
  }
};
