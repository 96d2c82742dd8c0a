// Reads from the published snapshot what followed inputs resolved to.
import { existsSync } from "node:fs";
import { z } from "zod";
import { sqlText } from "../duckdb/sql-files.ts";
import { readSnapshot } from "./mirror-reader.ts";

const row = z
  .object({
    input: z.string(),
    company_id: z.string().nullable(),
    status: z.string().nullable(),
    resolved_at: z.number().nullable(),
    error: z.string().nullable(),
  })
  .transform(({ company_id: companyId, resolved_at: resolvedAt, ...rest }) => ({ ...rest, companyId, resolvedAt }));
export type ResolvedInput = z.output<typeof row>;

/** By input; none without a snapshot. Throws the errors of opening it. */
export const readResolved = async (
  snapshot: string,
  inputs: readonly string[],
): Promise<ReadonlyMap<string, ResolvedInput>> => {
  if (!existsSync(snapshot)) return new Map();
  const rows = await readSnapshot(snapshot, ({ database }) =>
    database.query(sqlText("status/following.sql"), [JSON.stringify(inputs)], row),
  );
  return new Map(rows.map((found) => [found.input, found]));
};
