// Applies absences: records that no list shows the end of. A company whose profile is answered with 404, and an owner whom
// no account has any more, move to history, guarded like rows that a walk did not meet (deletes.ts).
import { z } from "zod";
import type { StreamName } from "../../catalog/streams.ts";
import { streamSpec } from "../../catalog/streams.ts";
import type { TableName } from "../../catalog/tables.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { finishedState } from "../task/scope-state.ts";
import type { ScopeTask } from "../task/scope-task.ts";
import { guardDeletes } from "./deletes.ts";
import { type SyncRun, shapeOf } from "./sync-run.ts";
import { closeTask, commitState, failTask } from "./task-ends.ts";

const idRow = z.object({ id: z.string() });
const mirroredRow = z.object({ id: z.string(), named: z.boolean() });
const COMPANY_LISTS = ["news_articles", "job_openings", "earnings_calls", "filings"] as const;

const idsOf = async (run: SyncRun, sql: string, companies?: readonly string[]): Promise<readonly string[]> => {
  const params = companies === undefined ? [] : [JSON.stringify(companies)];
  const rows = await run.deps.warehouse.database.query(sqlText(sql), params, idRow);
  return rows.map(({ id }) => id);
};

const remove = async (run: SyncRun, stream: StreamName | null, table: TableName, ids: readonly string[]) => {
  if (ids.length === 0) return;
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table, ids, runId: run.runId, now });
  if (stream !== null) run.stats.of(stream).deleted += deleted;
};

/** Everything under a company that is gone: its lists are answered with 404, too. */
const removeLists = async (run: SyncRun, company: string) => {
  const { warehouse, clock } = run.deps;
  for (const name of COMPANY_LISTS) {
    const { table } = streamSpec(name);
    // A walk that met nothing: every row of the company is missing.
    const walkId = `${run.runId}/${name}/${company}/gone`;
    const sampleSize = await warehouse.countRows(table, company);
    if (sampleSize === 0) continue;
    const { sample: ids } = await warehouse.missing({ table, walkId, company, sampleSize });
    const now = clock.now();
    run.stats.of(name).deleted += await warehouse.deleteKeys({ table, ids, company, runId: run.runId, now });
  }
};

/**
 * Decides over the companies whose profile was answered with 404. One that accounts bring along is still there; inputs
 * that stand for one of the others are resolved anew.
 */
export const settleAbsentCompanies = async (run: SyncRun, tasks: readonly ScopeTask[]): Promise<void> => {
  if (tasks.length === 0) return;
  const embedded = shapeOf(run, "accounts").grants.includes("company");
  const scopes = JSON.stringify(tasks.map((task) => task.candidate.scope));
  const sql = sqlText("plan/mirrored-companies.sql");
  const mirrored = await run.deps.warehouse.database.query(sql, [scopes], mirroredRow);
  const gone = mirrored.filter(({ named }) => !(named && embedded)).map(({ id }) => id);
  const rows = await run.deps.warehouse.countRows("companies");
  const refusal = guardDeletes(streamSpec("companies"), { rows, missing: gone.length }, run.options);
  for (const task of tasks) {
    const { scope } = task.candidate;
    if (refusal !== null && gone.includes(scope)) {
      await failTask(run, task, refusal, { resumable: false });
      continue;
    }
    if (gone.includes(scope)) {
      await removeLists(run, scope);
      await remove(run, "companies", "companies", [scope]);
      await remove(run, null, "company_inputs", await idsOf(run, "plan/inputs-of-companies.sql", [scope]));
    }
    const now = run.deps.clock.now();
    await commitState(run, finishedState(task, { whole: true, addsUp: true, now, runId: run.runId }));
    closeTask(run, task);
  }
};

/** Owners whom no account has any more. A service that stops naming owners says nothing about them. */
export const dropOwners = async (run: SyncRun): Promise<void> => {
  const orphans = await idsOf(run, "plan/owners-without-account.sql");
  if (orphans.length === 0) return;
  const rows = await run.deps.warehouse.countRows("owners");
  const refusal = guardDeletes(streamSpec("companies"), { rows, missing: orphans.length }, run.options);
  if (refusal === null) return remove(run, null, "owners", orphans);
  const text = `${orphans.length} of ${rows} owners are named by no account any more; nothing was deleted`;
  run.deps.emit({ kind: "note", level: "warn", text });
};
