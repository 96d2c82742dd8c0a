// Moves records that the service no longer has, and that no walk of a list can show, to history: companies whose profile returned 404,
// and owners and insights without an account. The guard against mass deletes applies to companies and owners (delete-missing-rows.ts).
import { z } from "zod";
import { type StreamName, streamSpec } from "../../../catalog/streams.ts";
import type { TableName } from "../../../catalog/tables.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import { stateKey } from "../../plan/candidate.ts";
import { INPUT_SCOPE } from "../../rows/loads.ts";
import type { Run } from "../state/run-state.ts";
import type { AbsentCompany } from "../state/suspected-deletions.ts";
import { guardDeletes } from "./delete-missing-rows.ts";
import { removeLists } from "./remove-company.ts";

type Settling = Run<"ends" | "forms" | "suspected" | "stats" | "unusable" | "work">;

const idRow = z.object({ id: z.string() });
const mirroredRow = z.object({ id: z.string(), named: z.boolean() });

const idsOf = async (run: Run, sql: string, companies?: readonly string[]): Promise<readonly string[]> => {
  const params = companies === undefined ? [] : [JSON.stringify(companies)];
  const rows = await run.deps.warehouse.database.query(sqlText(sql), params, idRow);
  return rows.map(({ id }) => id);
};

const remove = async (run: Run<"stats">, stream: StreamName | null, table: TableName, ids: readonly string[]) => {
  if (ids.length === 0) return;
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table, ids, runId: run.runId, now });
  if (stream !== null) run.stats.countDeleted(stream, deleted);
};

/** Removes all lists of a company that is gone; they return 404, too. */
const removeListsOf = async (run: Run<"stats">, company: string) => {
  const { warehouse, clock } = run.deps;
  const deleted = await removeLists(warehouse, company, { runId: run.runId, now: clock.now() });
  for (const [name, rows] of deleted) run.stats.countDeleted(name, rows);
};

/**
 * Decides on inputs that were resolved before and for which the service knows no company now. Their companies are followed
 * no more, which is guarded like a delete; the inputs are asked again at once, for free, as ones that no answer has resolved.
 */
const settleLostInputs = async (run: Settling, lost: readonly AbsentCompany[]): Promise<void> => {
  if (lost.length === 0) return;
  const rows = await run.deps.warehouse.countRows("companies");
  const refusal = guardDeletes(streamSpec("companies"), { rows, missing: lost.length }, run.options);
  for (const { list, doubtful } of lost) {
    const { stream, scope } = list.candidate;
    const input = scope.slice(INPUT_SCOPE.length);
    const endpoint = `GET /v1/companies/by-input/${input}`;
    const error = (doubtful ? run.unusable.doubt(list.candidate, endpoint) : null) ?? refusal;
    if (error !== null) {
      await run.ends.fail(list, error, { resumable: false });
      continue;
    }
    await remove(run, null, "company_inputs", [input]);
    run.ends.close(list);
    run.work.allowAgain(stateKey(stream, scope));
    run.work.planAgain();
  }
};

/**
 * Decides on companies whose profile returned 404. A company that accounts embed still exists, unless this run met it in none of
 * them, or a list of it answered 404, too; inputs that
 * resolved to one of the others are resolved again.
 */
const settleGone = async (run: Settling, absent: readonly AbsentCompany[]): Promise<void> => {
  if (absent.length === 0) return;
  const embedded = run.forms.ofStream("accounts").grants.includes("company");
  const scopes = JSON.stringify(absent.map(({ list }) => list.candidate.scope));
  const sql = sqlText("plan/mirrored-companies.sql");
  const mirrored = await run.deps.warehouse.database.query(sql, [scopes], mirroredRow);
  const stays = (id: string) => embedded && !run.suspected.isSuspect(id);
  const gone = mirrored.filter(({ id, named }) => !(named && stays(id))).map(({ id }) => id);
  const rows = await run.deps.warehouse.countRows("companies");
  const refusal = guardDeletes(streamSpec("companies"), { rows, missing: gone.length }, run.options);
  for (const { list, doubtful } of absent) {
    const { scope } = list.candidate;
    const isGone = gone.includes(scope);
    const doubt = doubtful && isGone ? run.unusable.doubt(list.candidate, `GET /v1/companies/${scope}`) : null;
    const error = doubt ?? refusal;
    if (isGone && error !== null) {
      await run.ends.fail(list, error, { resumable: false });
      continue;
    }
    if (isGone) {
      await removeListsOf(run, scope);
      await remove(run, "companies", "companies", [scope]);
      await remove(run, null, "company_inputs", await idsOf(run, "plan/inputs-of-companies.sql", [scope]));
    }
    await run.ends.finish(list, { whole: true, addsUp: true });
  }
};

/** Decides on companies and followed inputs that the service answered with 404. */
export const deleteAbsentCompanies = async (run: Settling, absent: readonly AbsentCompany[]): Promise<void> => {
  const isInput = ({ list }: AbsentCompany) => list.candidate.mode === "resolve";
  await settleGone(
    run,
    absent.filter((entry) => !isInput(entry)),
  );
  await settleLostInputs(run, absent.filter(isInput));
};

/**
 * Removes insights of accounts that are gone; no list shows them. This happens at the end of a run, because a
 * response sent before the account was deleted brings its insight back.
 */
export const deleteOrphanInsights = async (run: Run<"stats">): Promise<void> =>
  remove(run, "account_insights", "account_insights", await idsOf(run, "plan/insights-without-account.sql"));

const sighting = z
  .object({ runId: z.string(), ids: z.array(z.string()) })
  .nullable()
  .catch(null);
/** Fact in `sync.capabilities`: owners whose absence is not settled (sql/views/freshness.sql). */
const UNSETTLED_OWNERS = "unlisted.owners";

/**
 * Removes owners whom no account names, and those whom two whole walks of two runs embedded in no account although they embedded
 * others; owners have no route of their own that could prove it. Until then, or where the guard refuses, they are remembered:
 * the table is not complete.
 */
export const deleteAbsentOwners = async (run: Run<"forms" | "suspected" | "stats">): Promise<void> => {
  const { warehouse, clock } = run.deps;
  const { hasAllAccounts, owners } = run.suspected;
  const orphans = await idsOf(run, "plan/owners-without-account.sql");
  const isShown = hasAllAccounts && owners.size > 0 && !run.forms.isFiltered("accounts");
  const mirrored = isShown ? await idsOf(run, "plan/owners.sql") : [];
  const unmet = mirrored.filter((id) => !owners.has(id) && !orphans.includes(id));
  const known = sighting.parse(JSON.parse((await warehouse.capabilities()).get(UNSETTLED_OWNERS) ?? "null"));
  const missedBefore = known === null || known.runId === run.runId ? [] : known.ids;
  const gone = [...orphans, ...unmet.filter((id) => missedBefore.includes(id))];
  const rows = await warehouse.countRows("owners");
  const refusal = guardDeletes(streamSpec("companies"), { rows, missing: gone.length }, run.options);
  if (refusal === null) await remove(run, null, "owners", gone);
  else {
    const text = `${gone.length} of ${rows} owners are named by no account any more; nothing was deleted`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  const removed = refusal === null ? gone : [];
  const left = isShown ? unmet : (known?.ids ?? []);
  const ids = [...new Set([...orphans, ...left])].filter((id) => !removed.includes(id));
  if (JSON.stringify(ids) === JSON.stringify(known?.ids ?? [])) return;
  const value = ids.length === 0 ? null : { runId: run.runId, ids };
  await warehouse.setCapability(UNSETTLED_OWNERS, JSON.stringify(value), clock.now());
};
