// Messages between the program and the process that runs a user's SQL (as frames: frames.ts).
import { z } from "zod";
import type { OutValue } from "../duckdb/out-values.ts";

/** The statement to run. */
export interface Ask {
  readonly kind: "run";
  /** Path of the snapshot, absolute. */
  readonly snapshot: string;
  readonly sql: string;
  /** Whether the statement must pass the gate (gate/check-statement.ts). */
  readonly gated: boolean;
  /** DuckDB size text, e.g. `512MB`. */
  readonly memoryLimit: string;
  /** Most characters of one row. A row crosses to the asking process as a whole, so a larger one is refused here. */
  readonly rowCharacters: number;
}

/** `inspect` reads the catalog of a file, instead of a statement. Each later message requests more rows. */
export type ToProcess =
  | Ask
  | {
      readonly kind: "inspect";
      readonly snapshot: string;
      readonly memoryLimit: string;
      /** What each view and macro of this version selects (generated/own-views.ts). */
      readonly own: readonly (readonly [name: string, select: string])[];
    }
  | { readonly kind: "next" };

/** One check for all: of a million wrong rows, each would become a complaint of its own. */
const isRows = (value: unknown): boolean => Array.isArray(value) && value.every((row) => Array.isArray(row));

/** An error quotes its statement. */
const detail = z.string().transform((text) => text.slice(0, 20_000));

/**
 * Answers. `ready` comes first, unasked: the process is fenced (fence/proof.ts). `rows` is empty at the end. `failed`: the statement
 * failed. `refused`: it did not pass the gate. `tooLarge`: one row has too many characters.
 */
export const fromProcessSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  z.object({ kind: z.literal("columns"), columns: z.array(z.object({ name: z.string(), type: z.string() })) }),
  z.object({ kind: z.literal("rows"), rows: z.custom<OutValue[][]>(isRows) }),
  z.object({ kind: z.literal("inspected"), foreign: z.array(z.string()), unlike: z.array(z.string()) }),
  z.object({ kind: z.literal("failed"), detail }),
  z.object({ kind: z.literal("refused"), detail }),
  z.object({ kind: z.literal("tooLarge") }),
]);
export type FromProcess = z.output<typeof fromProcessSchema>;
