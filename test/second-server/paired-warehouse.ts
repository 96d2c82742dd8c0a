// Two warehouses side by side, in files and in memory: each call goes to both, and their answers must be equal. Shows
// that what trials find over tables in memory holds for the real ones.
import { isDeepStrictEqual } from "node:util";
import { sqlText } from "../../src/warehouse/duckdb/sql-files.ts";
import type { Warehouse } from "../../src/warehouse/file/warehouse.ts";
import type { MemoryWarehouse } from "../support/memory-warehouse/memory-warehouse.ts";

export interface PairedWarehouse extends Warehouse {
  /** Calls that the two answered differently. */
  readonly differences: readonly string[];
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => {
    if (item instanceof Map) return [...item].sort();
    if (item instanceof Set) return [...item].sort();
    return typeof item === "bigint" ? String(item) : item;
  }) ?? "nothing";

/** Rows in an order of their own, where the statement leaves it open. */
const sorted = <T>(rows: readonly T[]): readonly T[] => [...rows].sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));

/** Which of several reasons is named first is left open. */
const withoutReason = (row: object): object => ({ ...row, because: null });

/** In files a version begins after the latest change of any table; memory keeps no feed of changes, and no such time. */
const withoutVersion = (row: object): object => ({ ...row, changedAt: null });

/** `busy`: called for the time in which the files work. */
export const pairedWarehouse = (
  files: Warehouse,
  memory: MemoryWarehouse,
  busy: <T>(work: () => Promise<T>) => Promise<T>,
): PairedWarehouse => {
  const differences: string[] = [];
  // One call at a time, so that no other falls between the two.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = busy(() => last.then(work));
    last = mine.catch(() => undefined);
    return mine;
  };
  const both = async <T>(
    what: string,
    ask: (warehouse: Warehouse) => Promise<T>,
    plain = (value: T): unknown => value,
  ) => {
    const [real, other] = await inTurn(async () => [await ask(files), await ask(memory)] as const);
    if (!isDeepStrictEqual(plain(real), plain(other)) && textOf(plain(real)) !== textOf(plain(other)))
      differences.push(`files ${textOf(plain(real))}, memory ${textOf(plain(other))}: ${what}`);
    return real;
  };
  const left = new Map([
    [sqlText("plan/completeness.sql"), withoutReason],
    [sqlText("plan/accounts.sql"), withoutVersion],
  ]);
  return {
    ...files,
    differences,
    database: {
      ...files.database,
      query: (sql, params, row) =>
        both(
          sql.slice(0, 400),
          ({ database }) => database.query(sql, params, row),
          (rows) => {
            const without = left.get(sql) ?? ((row: object) => row);
            return sorted(rows.map((row) => (typeof row === "object" && row !== null ? without(row) : row)));
          },
        ),
      run: async (sql, params) => {
        const [changed] = await inTurn(() =>
          Promise.all([files.database.run(sql, params), memory.database.run(sql, params)]),
        );
        return changed;
      },
    },
    changesOf: files.changesOf,
    startRun: (run) => both("startRun", (warehouse) => warehouse.startRun(run)),
    finishRun: (runId, end) => both("finishRun", (warehouse) => warehouse.finishRun(runId, end)),
    commit: (checkpoint) =>
      both(`commit ${textOf(checkpoint).slice(0, 2_000)}`, (warehouse) => warehouse.commit(checkpoint)),
    setCapability: (name, value, now) => both(name, (warehouse) => warehouse.setCapability(name, value, now)),
    // Only files are published, and note when.
    capabilities: () =>
      both(
        "capabilities",
        (warehouse) => warehouse.capabilities(),
        (known) => new Map([...known].filter(([name]) => name !== "published")),
      ),
    scopeStates: (stream) =>
      both(
        "scopeStates",
        (warehouse) => warehouse.scopeStates(stream),
        (states) => sorted(states.map((state) => ({ ...state }))),
      ),
    requestsOf: (runId) => both("requestsOf", (warehouse) => warehouse.requestsOf(runId)),
    missing: (scope) => both(`missing ${textOf(scope)}`, (warehouse) => warehouse.missing(scope)),
    suspects: (search) => both(`suspects ${textOf(search)}`, (warehouse) => warehouse.suspects(search)),
    metRows: (search) => both(`metRows ${textOf(search)}`, (warehouse) => warehouse.metRows(search)),
    rowsPerDay: (field) => both(`rowsPerDay ${textOf(field)}`, (warehouse) => warehouse.rowsPerDay(field)),
    rowsBetween: (search) => both(`rowsBetween ${textOf(search)}`, (warehouse) => warehouse.rowsBetween(search)),
    seenCount: (walkId) => both(`seenCount ${walkId}`, (warehouse) => warehouse.seenCount(walkId)),
    countRows: (table, company) => both(`countRows ${table}`, (warehouse) => warehouse.countRows(table, company)),
    idsOfCompany: (table, company) =>
      both(`idsOfCompany ${table}`, (warehouse) => warehouse.idsOfCompany(table, company)),
    deleteMissing: (request) => both("deleteMissing", (warehouse) => warehouse.deleteMissing(request)),
    deleteKeys: (request) => both("deleteKeys", (warehouse) => warehouse.deleteKeys(request)),
    publish: () => busy(() => files.publish()),
    publishNews: (runId, policy) => busy(() => files.publishNews(runId, policy)),
    close: () => files.close(),
  };
};
