// A warehouse in memory, for simulations that run thousands of syncs: the same interface, plain maps inside.
// It answers the planner's queries by recognising their text, and can be "killed": everything fails until it is revived.
import type { StreamName } from "../../src/catalog/streams.ts";
import { type TableName, tableSpec } from "../../src/catalog/tables.ts";
import { isJsonObject, type JsonObject } from "../../src/core/json.ts";
import { ROWS_BY_SCOPE } from "../../src/sync/plan/rows-by-scope.ts";
import type { Database } from "../../src/warehouse/duckdb/database.ts";
import { sqlText } from "../../src/warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../src/warehouse/file/warehouse.ts";
import type { Checkpoint, LoadCounts, ScopeState, TableLoad } from "../../src/warehouse/record/checkpoint.ts";
import { EVOLVING } from "../../src/warehouse/record/strict-rows.ts";

interface StoredRow {
  readonly record: JsonObject;
  readonly syncedAt: number;
}

export interface MemoryWarehouse extends Warehouse {
  ids(table: TableName): readonly string[];
  /** Throws when it was killed. */
  alive(): void;
  kill(): void;
  revive(): void;
}

export interface MemoryOptions {
  /** Called with every id that is about to be deleted. */
  readonly onDelete: (table: TableName, id: string) => void;
  /** Takes the time of a disk, before and after each commit. */
  readonly pause?: () => Promise<void>;
  /** Called after every commit. `holds`: whether a row is in a table now. */
  readonly onCommit?: (checkpoint: Checkpoint, holds: (table: TableName, id: string) => boolean) => void;
}

const canonical = (value: unknown) =>
  JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item));
const stateId = (state: Pick<ScopeState, "stream" | "scope">) => `${state.stream}\n${state.scope}`;

export const createMemoryWarehouse = (options: MemoryOptions): MemoryWarehouse => {
  const tables = new Map<TableName, Map<string, StoredRow>>();
  const states = new Map<string, ScopeState>();
  const requests = new Map<string, string>();
  const capabilities = new Map<string, string>();
  const runs = new Map<string, string>();
  const seen = new Map<string, Set<string>>();
  const changes = new Map<TableName, number>();
  let dead = false;

  const changed = (name: TableName) => void changes.set(name, (changes.get(name) ?? 0) + 1);
  const alive = () => {
    if (dead) throw new Error("killed");
  };
  const published = () => {
    alive();
    return { path: "memory", bytes: 0, durationMs: 0, compacted: null };
  };
  const table = (name: TableName) => {
    const rows = tables.get(name) ?? new Map<string, StoredRow>();
    tables.set(name, rows);
    return rows;
  };

  const load = (one: TableLoad): LoadCounts => {
    const { fields, key } = tableSpec(one.table);
    const keyFields = key.map((column) => fields.find((field) => field.column === column)?.name ?? column);
    const counts = { inserted: 0, updated: 0, unchanged: 0, rejected: 0 };
    const rows = table(one.table);
    for (const record of one.records) {
      const filled = isJsonObject(record) ? { ...one.fromPath, ...record } : null;
      const id = filled === null ? null : keyFields.map((name) => String(filled[name])).join("\n");
      if (filled === null || id === null || id.includes("undefined")) {
        counts.rejected += 1;
        continue;
      }
      if (one.walkId !== null) seen.set(one.walkId, (seen.get(one.walkId) ?? new Set()).add(id));
      const before = rows.get(id);
      if (one.knownOnly && before === undefined) continue;
      const kept = Object.fromEntries(Object.entries(before?.record ?? {}).filter(([name]) => !one.asked.has(name)));
      const merged = { ...kept, ...filled };
      if (before === undefined) counts.inserted += 1;
      else if (canonical(before.record) === canonical(merged)) counts.unchanged += 1;
      else counts.updated += 1;
      if (before === undefined || canonical(before.record) !== canonical(merged))
        rows.set(id, { record: merged, syncedAt: one.receivedAt });
    }
    return counts;
  };

  const inScope = (name: TableName, company: string | undefined) =>
    [...table(name).keys()].filter((id) => company === undefined || id.startsWith(`${company}\n`));
  const missingIds = (name: TableName, walkId: string, company?: string) =>
    inScope(name, company).filter((id) => !(seen.get(walkId)?.has(id) ?? false));

  const answers: Record<string, (params: readonly unknown[]) => readonly Record<string, unknown>[]> = {
    [sqlText("plan/contacts-changed-after.sql")]: ([after]) => {
      const changed = [...table("contacts").values()].filter(({ record }) => {
        const at = Date.parse(String(record.lastChangeDetectedOn));
        return typeof after === "object" && after !== null && "micros" in after && at * 1000 > Number(after.micros);
      });
      return [{ rows: changed.length }];
    },
    [sqlText("plan/accounts.sql")]: () =>
      [...table("accounts")].map(([id, { record, syncedAt }]) => ({
        id,
        company_id: record.companyId ?? null,
        priority: record.priority ?? null,
        score: record.mainScore ?? null,
        changed_at: syncedAt,
      })),
    [sqlText("plan/companies.sql")]: () => [...table("companies").keys()].map((id) => ({ id })),
    [sqlText("plan/insights-without-account.sql")]: () =>
      [...table("account_insights").keys()].filter((id) => !table("accounts").has(id)).map((id) => ({ id })),
    [sqlText("plan/owners-without-account.sql")]: () => {
      const named = new Set([...table("accounts").values()].map(({ record }) => String(record.ownerId)));
      return [...table("owners").keys()].filter((id) => !named.has(id)).map((id) => ({ id }));
    },
    [sqlText("plan/inputs.sql")]: () => [],
    [sqlText("plan/last-quota.sql")]: () => [],
    [sqlText("plan/period-readings.sql")]: () => [],
    [sqlText("plan/past-runs.sql")]: () => [],
    [sqlText("plan/hints.sql")]: () => [],
    [sqlText("plan/crashed-runs.sql")]: () =>
      [...runs].filter(([, status]) => status === "running").map(([run_id]) => ({ run_id })),
    [sqlText("plan/completeness.sql")]: () =>
      [...states.values()]
        .filter(({ scope }) => scope === "")
        .map(({ stream, status, unconfirmed }) => ({
          stream,
          complete: status === "idle" && unconfirmed === null,
          unconfirmed: unconfirmed?.rows ?? 0,
          because: status === "idle" ? (unconfirmed?.because ?? null) : status,
          scopes: 1,
        })),
    [ROWS_BY_SCOPE]: () =>
      (["accounts", "contacts", "signals"] as const).map((stream) => ({ stream, scope: "", rows: table(stream).size })),
  };

  const database: Database = {
    file: "memory",
    query: async (sql, params, row) => {
      alive();
      const answer = answers[sql];
      if (answer === undefined) throw new TypeError(`the memory warehouse does not know: ${sql.slice(0, 80)}`);
      return answer(params).map((found) => row.parse(found));
    },
    cells: () => Promise.reject(new TypeError("no cells here")),
    run: async () => {
      alive();
      return 0;
    },
    append: async () => undefined,
    transaction: () => Promise.reject(new TypeError("no transactions here")),
    offline: (work) => work(),
    flushWal: async () => undefined,
    close: async () => undefined,
  };

  return {
    database,
    snapshot: "memory",
    strictness: EVOLVING,
    archiveDir: "memory",
    changesOf: (name) => changes.get(name) ?? 0,
    startRun: async ({ runId }) => {
      alive();
      runs.set(runId, "running");
    },
    finishRun: async (runId, { status }) => {
      alive();
      runs.set(runId, status);
    },
    commit: async (checkpoint: Checkpoint) => {
      await options.pause?.();
      alive();
      const known = new Set(requests.keys());
      const counts = checkpoint.loads.map((one) =>
        known.has(one.requestId) ? { inserted: 0, updated: 0, unchanged: 0, rejected: 0 } : load(one),
      );
      checkpoint.loads.forEach(({ table: name }, nth) => {
        const { inserted = 0, updated = 0 } = counts[nth] ?? {};
        if (inserted + updated > 0) changed(name);
      });
      for (const request of checkpoint.requests) requests.set(request.requestId, request.runId);
      for (const state of checkpoint.scopes) states.set(stateId(state), state);
      options.onCommit?.(checkpoint, (name, id) => table(name).has(id));
      await options.pause?.();
      return counts;
    },
    scopeStates: async (stream?: StreamName) => {
      alive();
      return [...states.values()].filter((state) => stream === undefined || state.stream === stream);
    },
    requestsOf: async (runId) => new Set([...requests].filter(([, run]) => run === runId).map(([id]) => id)),
    capabilities: async () => capabilities,
    setCapability: async (name, value) => {
      alive();
      capabilities.set(name, value);
    },
    missing: async ({ table: name, walkId, company, sampleSize = 20 }) => {
      alive();
      const ids = missingIds(name, walkId, company);
      return { rows: inScope(name, company).length, missing: ids.length, sample: ids.slice(0, sampleSize) };
    },
    deleteMissing: async ({ table: name, walkId, company, expected, scope }) => {
      alive();
      const ids = missingIds(name, walkId, company);
      if (ids.length !== expected) throw new TypeError(`${ids.length} rows would go, ${expected} were counted`);
      for (const id of ids) {
        options.onDelete(name, id);
        table(name).delete(id);
      }
      changed(name);
      seen.delete(walkId);
      if (scope !== undefined) states.set(stateId(scope), scope);
      return ids.length;
    },
    deleteKeys: async ({ table: name, ids }) => {
      alive();
      const there = ids.filter((id) => table(name).has(id));
      changed(name);
      for (const id of there) {
        options.onDelete(name, id);
        table(name).delete(id);
      }
      return there.length;
    },
    suspects: async ({ table: name, walkId, walkBefore, limit }) => {
      alive();
      const met = (id: string) => seen.get(walkId)?.has(id) ?? false;
      const orphan = (id: string) =>
        name !== "accounts" && !table("accounts").has(String(table(name).get(id)?.record.accountId));
      const before = walkBefore === null ? undefined : seen.get(walkBefore);
      return inScope(name, undefined)
        .filter((id) => !met(id) || orphan(id))
        .map((id) => ({
          id,
          met: met(id),
          orphan: orphan(id),
          missedTwice: !met(id) && before !== undefined && !before.has(id),
        }))
        .sort((a, b) => Number(a.met) - Number(b.met) || Number(b.orphan) - Number(a.orphan))
        .slice(0, limit);
    },
    metRows: async ({ table: name, walkId, limit }) =>
      inScope(name, undefined)
        .filter((id) => seen.get(walkId)?.has(id) ?? false)
        .slice(0, limit),
    seenCount: async (walkId) => {
      alive();
      return seen.get(walkId)?.size ?? 0;
    },
    countRows: async (name, company) => inScope(name, company).length,
    publish: async () => published(),
    publishNews: async () => published(),
    pruneArchive: async () => ({ files: 0, bytes: 0, newBaseline: false }),
    close: async () => undefined,
    alive,
    ids: (name) => [...table(name).keys()],
    kill: () => {
      dead = true;
    },
    revive: () => {
      dead = false;
    },
  };
};
