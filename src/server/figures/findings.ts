// Findings to check: records that could not become rows, and differences between the service and its document.
import { z } from "zod";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { perSnapshot } from "../snapshots/snapshot.ts";

const rejectRow = z.object({
  rejected_at: z.number(),
  run_id: z.string(),
  stream: z.string(),
  table_name: z.string(),
  position: z.number(),
  reason: z.string(),
  record: z.string(),
});

const driftRow = z.object({
  table_name: z.string(),
  field: z.string(),
  kind: z.string(),
  detail: z.string(),
  occurrences: z.number(),
  first_seen_at: z.number(),
  last_seen_at: z.number(),
});

export const readFindings = perSnapshot(async (snapshot) => ({
  rejects: await snapshot.query(sqlText("server/rejects.sql"), [], rejectRow),
  drift: await snapshot.query(sqlText("server/drift.sql"), [], driftRow),
}));
