// Messages between the program and the process that runs DuckDB with extensions. Each is answered once, in order.
import { z } from "zod";

/** S3 or a service that speaks its protocol. Keys come from the environment: AWS_ACCESS_KEY_ID and the like. */
export interface ObjectStore {
  readonly region?: string | undefined;
  /** Address with http:// or https://. */
  readonly endpoint?: string | undefined;
  readonly pathStyle?: boolean | undefined;
}

/** The first message. */
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

export type ToExtended = Opening | { readonly kind: "run"; readonly sql: string };

/** `rows`: of the statement, as JSON values; integers over 2^53 as text. */
export const fromExtendedSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("rows"), rows: z.array(z.record(z.string(), z.unknown())) }),
  z.object({ kind: z.literal("failed"), detail: z.string() }),
  z.object({ kind: z.literal("clientMissing") }),
  z.object({ kind: z.literal("extensionMissing"), extension: z.string(), detail: z.string() }),
]);
export type FromExtended = z.output<typeof fromExtendedSchema>;
