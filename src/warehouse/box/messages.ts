// Messages between the program and the process that runs a user's SQL. The process answers each message once.
import { z } from "zod";
import type { OutValue } from "../duckdb/duck-values.ts";

/** The first message: the statement to run. */
export interface Ask {
  /** Path of the snapshot, absolute. */
  readonly snapshot: string;
  readonly sql: string;
  /** DuckDB size text, e.g. `512MB`. */
  readonly memoryLimit: string;
}

/** Each later message requests more rows. */
export type ToBox = { readonly kind: "run"; readonly ask: Ask } | { readonly kind: "next" };

const rows = z.array(z.array(z.custom<OutValue>()));

/** Answers. `rows` is empty at the end. `snapshot`: the file could not be opened. `sql`: the statement failed. */
export const fromBoxSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("columns"), columns: z.array(z.object({ name: z.string(), type: z.string() })) }),
  z.object({ kind: z.literal("rows"), rows }),
  z.object({ kind: z.literal("failed"), detail: z.string() }),
]);
export type FromBox = z.output<typeof fromBoxSchema>;
