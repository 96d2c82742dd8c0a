// A warehouse in memory, for trials that run thousands of syncs: the same interface, typed rows in plain maps inside.
// It answers the planner's queries by recognising their text, and can be "killed": everything fails until it is revived.

import { createHash } from "node:crypto";
import type { StreamName } from "../../../src/catalog/streams.ts";
import type { TableName } from "../../../src/catalog/tables.ts";
import { jsonText } from "../../../src/core/json.ts";
import type { Database } from "../../../src/warehouse/duckdb/database.ts";
import { sqlText } from "../../../src/warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../../src/warehouse/file/warehouse.ts";
import type { AccountSearch, SuspectSearch } from "../../../src/warehouse/load/suspects.ts";
import type { Checkpoint, RequestRecord, ScopeState } from "../../../src/warehouse/record/checkpoint.ts";
import { EVOLVING } from "../../../src/warehouse/record/normalize-record.ts";
import { completenessOf, type Verdict } from "./completeness.ts";
import { datedRows } from "./dated-rows.ts";
import { plannerAnswers, type StoredRun } from "./planner-answers.ts";
import { createRows, type MemoryRows, type StoredRow } from "./rows.ts";

export interface MemoryWarehouse extends Warehouse {
  readonly rows: MemoryRows;
  /** The ledger. */
  readonly requests: ReadonlyMap<string, RequestRecord>;
  /** What marts.freshness says. */
  completeness(): readonly Verdict[];
  ids(table: TableName): readonly string[];
  /** Throws when it was killed. */
  alive(): void;
  kill(): void;
  revive(): void;
}

export interface MemoryOptions {
  /** Called with every id that is about to be deleted. */
  readonly onDelete?: (table: TableName, id: string) => void;
  /** Takes the time of a disk, before and after each commit. */
  readonly pause?: () => Promise<void>;
  /** Called after every commit. `holds`: whether a row is in a table now. */
  readonly onCommit?: (checkpoint: Checkpoint, holds: (table: TableName, id: string) => boolean) => void;
}

const SAMPLE = 20;
const md5 = (text: string) => createHash("md5").update(text).digest("hex");
const stateId = (state: Pick<ScopeState, "stream" | "scope">) => `${state.stream}\n${state.scope}`;
/** Sorts by the first of these numbers or texts that differs. */
const byParts =
  <T>(parts: (item: T) => readonly (number | string)[]) =>
  (a: T, b: T): number => {
    const [left, right] = [parts(a), parts(b)];
    const at = left.findIndex((part, index) => part !== right[index]);
    return at === -1 ? 0 : (left[at] ?? 0) < (right[at] ?? 0) ? -1 : 1;
  };

/** What the searches for suspects find. */
const searches = (rows: MemoryRows, states: ReadonlyMap<string, ScopeState>) => {
  const accounts = () => new Set([...rows.of("accounts").values()].map(({ id }) => id));
  const isOrphan = (table: TableName, row: StoredRow, known: ReadonlySet<string>) =>
    table !== "accounts" && !known.has(String(rows.cell(table, row, "account_id")));
  return {
    suspects: ({ table, walkId, walkBefore, limit }: SuspectSearch) => {
      const known = accounts();
      const state = states.get(`${table}\n`);
      const since = state?.walkedAt ?? state?.checkedAt ?? null;
      return rows
        .matches(table, undefined)
        .map((row) => {
          const met = rows.met(table, walkId, row);
          // A row that was added after the previous walk was not missed by it.
          const before = walkBefore !== null && rows.seen.has(walkBefore) && !rows.met(table, walkBefore, row);
          const missedTwice = !met && before && since !== null && row.firstSyncedAt < since;
          return { id: row.id, met, orphan: isOrphan(table, row, known), missedTwice };
        })
        .filter(({ met, orphan }) => !met || orphan)
        .sort(
          byParts(({ id, met, orphan, missedTwice }) => [
            Number(met),
            Number(!orphan),
            Number(!missedTwice),
            md5(id + walkId),
            id,
          ]),
        )
        .slice(0, limit);
    },
    rowsByAccount: async ({ table, mirrored, limit }: AccountSearch) => {
      const known = accounts();
      const byAccount = new Map<string, string[]>();
      for (const row of table === "accounts" ? [] : rows.matches(table, undefined)) {
        const account = rows.cell(table, row, "account_id");
        if (account == null || known.has(String(account)) !== mirrored) continue;
        byAccount.set(String(account), [...(byAccount.get(String(account)) ?? []), row.id]);
      }
      return [...byAccount]
        .map(([account, ids]) => ({ account, ids: ids.sort() }))
        .sort(byParts(({ account, ids }) => [-ids.length, Number(account)]))
        .slice(0, limit);
    },
    metRows: ({ table, walkId, limit }: Omit<SuspectSearch, "walkBefore">) => {
      const known = accounts();
      return rows
        .matches(table, undefined)
        .filter((row) => rows.met(table, walkId, row) && !isOrphan(table, row, known))
        .sort(byParts(({ id, syncedAt }) => [-syncedAt, md5(id + walkId)]))
        .slice(0, limit)
        .map(({ id }) => id);
    },
  };
};

/** Runs of the mirror, as sync.runs keeps them. */
const runBook = () => {
  const runs = new Map<string, StoredRun>();
  return {
    runs,
    start: ({ runId, mode, startedAt, forecast = null }: Parameters<Warehouse["startRun"]>[0]) => {
      const text = forecast === null ? null : jsonText(forecast).text;
      runs.set(runId, { runId, mode, startedAt, forecast: text, status: "running", summary: null });
    },
    finish: (runId: string, { status, summary }: Parameters<Warehouse["finishRun"]>[1]) => {
      const run = runs.get(runId);
      if (run !== undefined)
        runs.set(runId, { ...run, status, summary: summary === null ? null : jsonText(summary).text });
    },
  };
};

export const createMemoryWarehouse = (options: MemoryOptions): MemoryWarehouse => {
  const rows = createRows();
  const states = new Map<string, ScopeState>();
  const requests = new Map<string, RequestRecord>();
  const capabilities = new Map<string, string>();
  const { runs, start, finish } = runBook();
  const changes = new Map<TableName, number>();
  const { suspects, metRows, rowsByAccount } = searches(rows, states);
  let dead = false;

  const changed = (name: TableName) => void changes.set(name, (changes.get(name) ?? 0) + 1);
  const alive = () => {
    if (dead) throw new Error("killed");
  };
  const published = () => {
    alive();
    return { path: "memory", bytes: 0, durationMs: 0, compacted: null, broken: null };
  };
  const remove = (name: TableName, isGone: (row: StoredRow) => boolean): number => {
    changed(name);
    return rows.remove(name, (row) => {
      if (!isGone(row)) return false;
      options.onDelete?.(name, row.id);
      return true;
    });
  };
  const unmet = (name: TableName, walkId: string, company?: string) =>
    rows.matches(name, company).filter((row) => !rows.met(name, walkId, row));

  const answers = plannerAnswers({ rows, states, runs, requests, capabilities });
  const database: Database = {
    file: "memory",
    query: async (sql, params, row) => {
      alive();
      const answer = answers[sql];
      if (answer === undefined) throw new TypeError(`the memory warehouse does not know: ${sql.slice(0, 80)}`);
      return answer(params).map((found) => row.parse(found));
    },
    cells: () => Promise.reject(new TypeError("no cells here")),
    integers: () => Promise.reject(new TypeError("no integers here")),
    run: async (sql) => {
      alive();
      if (sql !== sqlText("plan/drop-finished-walks.sql")) throw new TypeError(`not known: ${sql.slice(0, 80)}`);
      const kept = new Set([...states.values()].map(({ walkId }) => walkId));
      for (const walkId of rows.seen.keys()) if (!kept.has(walkId)) rows.seen.delete(walkId);
      return 0;
    },
    append: async () => undefined,
    transaction: () => Promise.reject(new TypeError("no transactions here")),
    offline: (work) => work(),
    flushWal: async () => undefined,
    close: async () => undefined,
  };

  const commit = (checkpoint: Checkpoint) => {
    const { runId, loads, scopes, quota } = checkpoint;
    const known = new Set(requests.keys());
    const counts = rows.load(loads, (requestId) => known.has(requestId), runId);
    loads.forEach(({ table }, nth) => {
      const { inserted = 0, updated = 0 } = counts[nth] ?? {};
      if (inserted + updated > 0) changed(table);
    });
    for (const state of scopes) states.set(stateId(state), state);
    for (const request of checkpoint.requests)
      if (!known.has(request.requestId)) requests.set(request.requestId, request);
    if (quota !== null) rows.readQuota(quota, runId);
    options.onCommit?.(checkpoint, (name, id) => rows.matches(name, undefined).some((row) => row.id === id));
    return counts;
  };

  return {
    database,
    rows,
    requests,
    snapshot: "memory",
    adopted: false,
    strictness: EVOLVING,
    archiveDir: "memory",
    changesOf: (name) => changes.get(name) ?? 0,
    startRun: async (run) => {
      alive();
      start(run);
    },
    finishRun: async (runId, end) => {
      alive();
      finish(runId, end);
    },
    commit: async (checkpoint) => {
      await options.pause?.();
      alive();
      const counts = commit(checkpoint);
      await options.pause?.();
      return counts;
    },
    scopeStates: async (stream?: StreamName) => {
      alive();
      return [...states.values()]
        .filter((state) => stream === undefined || state.stream === stream)
        .sort(byParts((state) => [state.stream, state.scope]));
    },
    requestsOf: async (runId) =>
      new Set([...requests.values()].flatMap((one) => (one.runId === runId ? [one.requestId] : []))),
    capabilities: async () => capabilities,
    setCapability: async (name, value) => {
      alive();
      capabilities.set(name, value);
    },
    missing: async ({ table, walkId, company }) => {
      alive();
      const ids = unmet(table, walkId, company)
        .map(({ id }) => id)
        .sort(byParts((id) => [md5(id), id]));
      return { rows: rows.matches(table, company).length, missing: ids.length, sample: ids.slice(0, SAMPLE) };
    },
    deleteMissing: async ({ table, walkId, company, expected, scope }) => {
      alive();
      const gone = new Set(unmet(table, walkId, company));
      if (gone.size !== expected) throw new TypeError(`${gone.size} rows would go, ${expected} were counted`);
      const count = remove(table, (row) => gone.has(row));
      rows.seen.delete(walkId);
      if (scope !== undefined) states.set(stateId(scope), scope);
      return count;
    },
    deleteKeys: async ({ table, ids, company }) => {
      alive();
      const gone = new Set(ids);
      return remove(table, (row) => gone.has(row.id) && (company === undefined || row.company === company));
    },
    // Rows in memory have no marks: trials have no scope.
    mark: async () => 0,
    suspects: async (search) => {
      alive();
      return suspects(search);
    },
    metRows: async (search) => metRows(search),
    rowsByAccount,
    ...datedRows(rows),
    seenCount: async (walkId) => {
      alive();
      return rows.seen.get(walkId)?.size ?? 0;
    },
    countRows: async (name, company) => rows.matches(name, company).length,
    idsOfCompany: async (name, company) =>
      rows
        .matches(name, company)
        .map(({ id }) => id)
        .sort(),
    publish: async () => published(),
    publishNews: async () => published(),
    pruneArchive: async () => ({ files: 0, bytes: 0, newBaseline: false }),
    close: async () => undefined,
    alive,
    completeness: () => completenessOf({ rows, states, capabilities }),
    ids: (name) => rows.matches(name, undefined).map(({ id }) => id),
    kill: () => {
      dead = true;
    },
    revive: () => {
      dead = false;
    },
  };
};
