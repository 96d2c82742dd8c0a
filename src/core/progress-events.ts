// What a run tells about itself while it runs. The engine emits these; the terminal, the log and the server show them.
import type { StreamStatus, SyncMode } from "./sync-report.ts";

export type ProgressEvent =
  | {
      readonly kind: "run-started";
      readonly runId: string;
      readonly mode: SyncMode /** ms since the epoch */;
      readonly at: number;
    }
  | {
      readonly kind: "stream-planned";
      readonly stream: string;
      /** null: only known once the first page is there. */
      readonly requests: number | null;
      readonly because: string;
    }
  | {
      readonly kind: "page";
      readonly stream: string;
      /** Requests, credits and rows of this stream in this run so far. */
      readonly requests: number;
      readonly credits: number;
      readonly rows: number;
      readonly pagesDone: number;
      readonly pagesTotal: number | null;
      readonly rowsTotal: number | null;
    }
  | {
      readonly kind: "waiting";
      /** `quota`: the run ends, and what is left waits for the next one after the reset. */
      readonly why: "rate" | "retry" | "quota";
      /** ms since the epoch. */
      readonly until: number;
      /** null: the whole run waits. */
      readonly stream: string | null;
    }
  | { readonly kind: "resumed" }
  | {
      readonly kind: "stream-finished";
      readonly stream: string;
      readonly status: StreamStatus;
      readonly inserted: number;
      readonly updated: number;
      readonly deleted: number;
      readonly unchanged: number;
      readonly rejected: number;
      readonly complete: boolean;
      readonly unconfirmed: number;
      /** Why it is not complete. */
      readonly because?: string;
      readonly error?: string;
    }
  | { readonly kind: "published"; readonly path: string; readonly bytes: number; readonly ms: number }
  /** Of a worker: what the profile wants exported is up to date. */
  | { readonly kind: "exported"; readonly formats: readonly string[]; readonly ms: number }
  | { readonly kind: "note"; readonly level: "info" | "warn"; readonly text: string };

/** Takes the events of a run, in order. */
export type ProgressSink = (event: ProgressEvent) => void;
