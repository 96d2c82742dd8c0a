// Judges differences that `verify` found between mirror and service: *newer* (the service changed since the mirror read it) or *wrong*.
// Newer needs a proof: a change date that no sync has read yet; the archived response from which the row was loaded; or, for rows that came
// or went, a list that holds as many rows as when its counts last agreed.
import { z } from "zod";
import { type StreamName, type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { type Comparison, compareLoad } from "../../warehouse/load/compare.ts";
import type { ScopeState, TableLoad } from "../../warehouse/record/checkpoint.ts";
import { stateKey } from "../plan/candidate.ts";
import { archivedLoads, parseArchived } from "../recovery/archived-response.ts";
import { idOf, timeOf } from "../rows/loads.ts";
import type { VerifyFacts } from "./checks.ts";
import type { Difference } from "./report.ts";
import type { CheckResponse, VerifyRun } from "./verify-run.ts";

/** List or table of a difference; `scope`: the company, or empty. */
export interface Where {
  readonly stream: StreamName;
  readonly scope: string;
}

/** A difference that is not repaired yet, and wrong unless something proves it newer. */
export const unprovenDifference = (
  kind: Difference["kind"],
  where: Where,
  what: Partial<Omit<Difference, "kind" | keyof Where>>,
): Difference => ({
  ...where,
  kind,
  key: null,
  field: null,
  mirror: null,
  api: null,
  verdict: "wrong",
  repaired: false,
  ...what,
});

/** Lists (as `stateKey`) that hold as many rows as when their counts last agreed: what differs came or went later. */
export const settledLists = (
  { lists }: Pick<VerifyFacts, "lists">,
  states: ReadonlyMap<string, ScopeState>,
): ReadonlySet<string> =>
  new Set(
    lists
      .filter(({ stream, scope, rows }) => {
        const state = states.get(stateKey(stream, scope));
        return state?.unconfirmed === null && state.rowsAtWalk === rows;
      })
      .map(({ stream, scope }) => stateKey(stream, scope)),
  );

/** True when every change of a record moves its change date, so an old date excludes a later change. */
const isDated = ({ strategy, watermark }: StreamSpec): boolean => strategy === "watermark" && watermark !== undefined;

/** Records of a response that changed after everything that syncs have read of their list. */
const laterRecords = (run: VerifyRun, { stream, table, records }: TableLoad): ReadonlySet<string> => {
  const { watermark, table: own } = streamSpec(stream);
  const read = run.states.get(stateKey(stream, ""))?.watermark ?? null;
  if (watermark === undefined || read === null || table !== own) return new Set();
  return new Set(
    records
      .filter((record) => (timeOf(record, watermark) ?? Number.NEGATIVE_INFINITY) > read)
      .flatMap((record) => idOf(record) ?? []),
  );
};

const runRow = z.object({ id: z.string(), run: z.string() });

/** The run that last changed each of these rows. */
const runsOfRows = async (run: VerifyRun, table: TableName, { scope }: Where, ids: readonly string[]) => {
  const { key } = tableSpec(table);
  const id = `CAST(${quoted(key.at(-1) ?? "")} AS VARCHAR)`;
  const isCompanys = key.includes("company_id");
  const rows = await run.deps.warehouse.database.query(
    `SELECT ${id} AS id, _run_id AS run FROM main.${quoted(table)} WHERE ${id} IN (SELECT unnest(?))${isCompanys ? " AND company_id = ?" : ""}`,
    isCompanys ? [[...ids], scope] : [[...ids]],
    runRow,
  );
  const byRun = new Map<string, Set<string>>();
  for (const row of rows) byRun.set(row.run, (byRun.get(row.run) ?? new Set()).add(row.id));
  return byRun;
};

/** Id of a record; an insight has its account's. */
const recordId = (record: JsonValue): string =>
  idOf(record) ?? (isJsonObject(record) ? String(record.accountId ?? "") : "");

/** Differences of these records that an archived response disproves: the mirror holds what the service returned then. */
const confirmedBy = async (
  run: VerifyRun,
  load: TableLoad,
  wanted: ReadonlyMap<string, readonly Difference[]>,
): Promise<readonly Difference[]> => {
  const records = load.records.filter((record) => wanted.has(recordId(record)));
  if (records.length === 0) return [];
  const { warehouse } = run.deps;
  const compared = await compareLoad(warehouse.database, { ...load, records }, warehouse.strictness);
  const isEqual = (id: string, field: string) =>
    compared.fields.every((other) => other.id !== id || other.field !== field);
  return records.flatMap((record) => {
    const id = recordId(record);
    const holds = (field: string) =>
      field === "_extra" || load.asked.has(field) || (isJsonObject(record) && field in record);
    return (wanted.get(id) ?? []).filter(({ field }) => field === null || (holds(field) && isEqual(id, field)));
  });
};

/** Marks as newer the differences of records of which the mirror holds what the archive shows that the service returned. */
const archived = async (
  run: VerifyRun,
  table: TableName,
  where: Where,
  differences: readonly Difference[],
): Promise<readonly Difference[]> => {
  const wanted = new Map<string, Difference[]>();
  for (const one of differences) if (one.key !== null) wanted.set(one.key, [...(wanted.get(one.key) ?? []), one]);
  if (wanted.size === 0) return differences;
  const newer = new Set<Difference>();
  for (const [runId, ids] of await runsOfRows(run, table, where, [...wanted.keys()])) {
    const open = new Map([...wanted].filter(([id]) => ids.has(id)));
    for await (const { header, body } of run.deps.archive.responses(runId)) {
      const answer = parseArchived(header, body);
      const loads = answer === null ? [] : archivedLoads(answer, null).filter((load) => load.table === table);
      for (const load of loads) {
        for (const one of await confirmedBy(run, load, open)) newer.add(one);
      }
      for (const [id, own] of open) if (own.every((one) => newer.has(one))) open.delete(id);
      if (open.size === 0) break;
    }
  }
  return differences.map((one) => (newer.has(one) ? { ...one, verdict: "newer" } : one));
};

/** The verdict on rows that came or went: newer if their list was settled. */
export const verdictOnRows = (run: VerifyRun, { stream, scope }: Where): Difference["verdict"] =>
  run.settled.has(stateKey(stream, scope)) ? "newer" : "wrong";

/** The verdict on a record that is gone, asked for by its id. */
export const verdictOnDeleted = async (run: VerifyRun, where: Where, id: string): Promise<Difference["verdict"]> => {
  const { list, table } = streamSpec(where.stream);
  if (list !== undefined) return verdictOnRows(run, where);
  const [gone] = await archived(run, table, where, [unprovenDifference("vanished", where, { key: id })]);
  return gone?.verdict ?? "wrong";
};

/** The differences of a comparison with their verdicts; call it before anything is repaired. */
const judged = async (
  run: VerifyRun,
  where: Where,
  load: TableLoad,
  { fields, absent }: Pick<Comparison, "fields" | "absent">,
): Promise<readonly Difference[]> => {
  const later = laterRecords(run, load);
  const isLater = ({ key }: Difference) => later.has(key ?? "");
  const changed = fields.map(({ id, ...values }) => unprovenDifference("field", where, { key: id, ...values }));
  const missing = absent.map((id) => unprovenDifference("missing", where, { key: id }));
  const found = [...changed, ...missing];
  const newer = found.filter(isLater).map((one) => ({ ...one, verdict: "newer" as const }));
  const open = (some: readonly Difference[]) => some.filter((one) => !isLater(one));
  if (isDated(streamSpec(where.stream))) return [...open(found), ...newer];
  const verdict = verdictOnRows(run, where);
  const shown = await archived(run, load.table, where, open(changed));
  return [...shown, ...open(missing).map((one) => ({ ...one, verdict })), ...newer];
};

/**
 * Compares the main rows of an answer with the mirror, and commits it: with its rows, if they differ and `repair` is set.
 * `alone`: fields that only a record's own route returns do not count where the mirror has no value, because they are
 * mirrored only if configured.
 */
export const compareResponse = async (
  run: VerifyRun,
  where: Where,
  { loads, requests }: Extract<CheckResponse, { kind: "answer" }>,
  { repair = run.repair, alone = false } = {},
): Promise<Pick<Comparison, "ids" | "absent"> & { readonly differences: readonly Difference[] }> => {
  const [load] = loads;
  if (load === undefined) {
    await run.commit(requests, []);
    return { ids: [], absent: [], differences: [] };
  }
  const { database, strictness } = run.deps.warehouse;
  const { ids, fields, absent } = await compareLoad(database, load, strictness);
  const isReturned = (name: string) => tableSpec(load.table).uncertain.every((field) => field.name !== name);
  const counting = fields.filter(({ field, mirror }) => !alone || mirror !== null || isReturned(field));
  const differences = await judged(run, where, load, { fields: counting, absent });
  if (differences.some(({ verdict }) => verdict === "newer")) run.moved.add(where.stream);
  await run.commit(requests, repair && differences.length > 0 ? loads : []);
  return { ids, absent, differences: differences.map((one) => ({ ...one, repaired: repair })) };
};
