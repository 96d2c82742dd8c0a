// Events of a running sync. The engine emits them; terminal, log and server show them.
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
      /** null: unknown until the first page arrives. */
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
      /** `quota`: the run ends, and the next one after the reset continues. */
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
      readonly unconfirmed: number | null;
      /** Reason why it is not complete. */
      readonly because?: string;
      readonly error?: string;
    }
  | { readonly kind: "published"; readonly path: string; readonly bytes: number; readonly ms: number }
  /** The sync found nothing new, so the snapshot stays. */
  | { readonly kind: "looked"; readonly path: string }
  /** A worker has brought the profile's exports up to date. */
  | { readonly kind: "exported"; readonly formats: readonly string[]; readonly ms: number }
  | { readonly kind: "note"; readonly level: "info" | "warn"; readonly text: string };

/** Receives the events of a run, in order. */
export type ProgressSink = (event: ProgressEvent) => void;
