// Messages between the program and the process that runs DuckDB with extensions. Each is answered once, in order.
import { z } from "zod";
import type { OutValue } from "../out-values.ts";

/** S3 or a service that speaks its protocol. Keys come from the environment: AWS_ACCESS_KEY_ID and the like. */
export interface ObjectStore {
  readonly region?: string | undefined;
  /** Address with http:// or https://. */
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
}

export interface Opening {
  readonly kind: "open";
  /** DuckDB size text. */
  readonly memoryLimit: string;
  /** Absent: one per core. */
  readonly threads?: number;
  /** Names of extensions, in the order in which they are loaded. */
  readonly extensions: readonly string[];
  /** Folder of extension files; absent: DuckDB's own. */
  readonly extensionDirectory?: string;
  readonly objectStore?: ObjectStore;
}

/** A user's statement, which may only read. `next` requests more of its rows. */
export interface Question {
  readonly kind: "query";
  readonly sql: string;
  /** Most characters of one row. */
  readonly rowCharacters: number;
}

export type ToExtended =
  | Opening
  | { readonly kind: "run"; readonly sql: string }
  | Question
  | { readonly kind: "next" };

/**
 * `rows`: of the statement, as JSON values; integers over 2^53 as text. `columns`, then `batch` for each `next`, empty at the
 * end: of a user's statement. `notReading`: the statement does not only read. `tooLarge`: one row has too many characters.
 */
export const fromExtendedSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("rows"), rows: z.array(z.record(z.string(), z.unknown())) }),
  z.object({ kind: z.literal("columns"), columns: z.array(z.object({ name: z.string(), type: z.string() })) }),
  z.object({ kind: z.literal("batch"), batch: z.array(z.array(z.custom<OutValue>())) }),
  z.object({ kind: z.literal("notReading") }),
  z.object({ kind: z.literal("tooLarge") }),
  z.object({ kind: z.literal("failed"), detail: z.string() }),
  z.object({ kind: z.literal("clientMissing") }),
  z.object({ kind: z.literal("extensionMissing"), extension: z.string(), detail: z.string() }),
]);
export type FromExtended = z.output<typeof fromExtendedSchema>;
