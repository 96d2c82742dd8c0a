// Reads one run from the snapshot for the page: report, forecast, results per stream, and its requests, failed ones first.
import { z } from "zod";
import { jsonOrText } from "../../core/json.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import type { Look } from "../../warehouse/read/looks.ts";
import { notFound } from "../http/refusals.ts";
import type { Snapshot } from "../snapshots/snapshot.ts";

const count = z.number();
const ms = z.number().nullable();
const word = z.string().nullable();

/** JSON of a column; text that is not JSON is shown unchanged. */
const jsonText = word.transform((text): unknown => (text === null ? null : jsonOrText(text)));

const runRow = z.object({
  run_id: z.string(),
  mode: z.string(),
  status: z.string(),
  started_at: count,
  finished_at: ms,
  error: word,
  forecast: jsonText,
  summary: jsonText,
});

const streamRow = z.object({
  stream: z.string(),
  requests: count,
  credits: count,
  ambiguous: count,
  failed_requests: count,
  rows: count.nullable(),
  bytes: count.nullable(),
  first_at: ms,
  last_at: ms,
});

const changedRow = z.object({ table_name: z.string(), change: z.string(), rows: count });

const requestRow = z.object({
  request_id: z.string(),
  stream: z.string(),
  scope: z.string(),
  endpoint: z.string(),
  url: z.string(),
  status: count.nullable(),
  charge: z.string(),
  started_at: count,
  duration_ms: count,
  bytes: count,
  rows: count,
  attempt: count,
  error: word,
  service_request_id: word,
  api_version: word,
});

const lookedStreams = z.object({
  streams: z.array(z.object({ stream: z.string(), requests: count, credits: count })),
});

/** A run that published no snapshot: its report has its streams; its requests are in the next snapshot. */
const lookedRun = ({ run }: Look) => {
  const known = runRow.parse({ ...run, forecast: null });
  const nothing = { ambiguous: 0, failed_requests: 0, rows: null, bytes: null, first_at: null, last_at: null };
  const streams = lookedStreams.safeParse(known.summary).data?.streams ?? [];
  return {
    ...known,
    changed: [],
    streams: streams.filter(({ requests }) => requests > 0).map((stream) => streamRow.parse({ ...nothing, ...stream })),
  };
};

/** The run and its streams. Throws a 404 refusal if it does not exist. */
export const readRun = async (snapshot: Snapshot, runId: string) => {
  const looked = snapshot.looks.find(({ run }) => run.run_id === runId);
  if (looked !== undefined) return lookedRun(looked);
  const [run] = await snapshot.query(sqlText("server/run.sql"), [runId], runRow);
  if (run === undefined) throw notFound("such run in the snapshot");
  return {
    ...run,
    streams: await snapshot.query(sqlText("server/run-streams.sql"), [runId], streamRow),
    changed: await snapshot.query(sqlText("server/run-changes.sql"), [runId], changedRow),
  };
};

/** Requests of a run; `stream` null: of all streams. */
export const readRunRequests = (
  snapshot: Snapshot,
  runId: string,
  page: { readonly stream: string | null; readonly limit: number; readonly offset: number },
) => snapshot.query(sqlText("server/run-requests.sql"), [runId, page.stream, page.limit, page.offset], requestRow);
