// `Destination` of kind `ducklake`: delivers rows, views and position in one transaction, and so one snapshot of the lake; a reader sees
// the lake before or after it. DuckDB with extensions does the work, in a process that may die at any moment.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock, timerMs } from "../../../core/clock.ts";
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import type { MemoryPlan } from "../../../core/config/memory-plan.ts";
import { DuckmirrorError, detailOf } from "../../../core/errors.ts";
import { makeFolders } from "../../../core/files/own-files.ts";
import { literal } from "../../../core/text/sql-text.ts";
import { formatDuration } from "../../../core/text/units.ts";
import { type Effort, goOn, startMemory } from "../../../warehouse/duckdb/database.ts";
import { type ExtendedDuckdb, openExtended } from "../../../warehouse/duckdb/extended/extended-duckdb.ts";
import {
  type Delivered,
  type DeliveredTable,
  type DeliverySource,
  type Destination,
  isSamePosition,
  isUpToDate,
  type Position,
} from "../../destination.ts";
import { readLeftOut } from "../../left-out.ts";
import { maintain, purge } from "./clean-lake.ts";
import { LAKE, lakeAddress, openingOf } from "./lake-address.ts";
import {
  type BroughtTable,
  bringTable,
  COMPRESS_SQL,
  COMPRESSION_SQL,
  createStateSql,
  type Held,
  inlineStateSql,
  type LakeState,
  otherStateTable,
  readHeld,
  readState,
  setStateSql,
  stateTable,
  writeStateSql,
} from "./lake-state.ts";
import { type LakePlace, NO_VIEWS, readViews, SNAPSHOT, viewsSchema } from "./table-sql.ts";

type Settings = SettingsOf<"ducklake">;

const runAll = async (lake: ExtendedDuckdb, statements: readonly string[]): Promise<void> => {
  for (const statement of statements) await lake.run(statement);
};

const placeOf = ({ schema, organization }: Settings): LakePlace => ({ schema, organization: organization ?? null });

/** Refuses to mix with tables that others made, and with tables of the other form. Throws DESTINATION_FAILED. */
const assertOurs = (settings: Settings, held: Held, tables: readonly string[]) => {
  const { name, schema } = settings;
  const place = placeOf(settings);
  const refuse = (detail: string) => new DuckmirrorError("DESTINATION_FAILED", { name, detail });
  if (held.has(otherStateTable(place))) {
    const found = place.organization === null ? "organizations share" : "one mirror fills";
    throw refuse(`schema ${schema} is one that ${found}; set another schema`);
  }
  const foreign = held.has(stateTable(place)) ? undefined : tables.find((table) => held.has(table));
  if (foreign === undefined) return;
  throw refuse(`schema ${schema} has a table ${foreign} that duckmirror did not make; set another schema`);
};

const noteOf = ({ run, position }: DeliverySource): string => {
  const extra = { run_id: run?.id ?? null, credits: run?.credits ?? null, mirror: position.mirror, change: position.n };
  const message = `run ${run?.id ?? "none"}, credits ${run?.credits ?? 0}`;
  return `CALL ${LAKE}.set_commit_message('duckmirror', ${literal(message)}, extra_info => ${literal(JSON.stringify(extra))})`;
};

interface Commit {
  readonly lake: ExtendedDuckdb;
  readonly settings: Settings;
  readonly source: DeliverySource;
  readonly held: Held;
  readonly state: LakeState | null;
  readonly tables: readonly DeliveredTable[];
}

/** Before the first delivery to this place: files are compressed, unless somebody chose how. */
const prepare = async (lake: ExtendedDuckdb, place: LakePlace, held: Held): Promise<void> => {
  if (held.has(stateTable(place))) return;
  if ((await lake.run(COMPRESSION_SQL)).length === 0) await lake.run(COMPRESS_SQL);
};

/** From here on, a delivery that ends earlier makes the commit fail. Throws DESTINATION_OVERTAKEN. */
const assertNotOvertaken = async (lake: ExtendedDuckdb, settings: Settings, held: Held, from: Position | null) => {
  const now = await readState(lake, placeOf(settings), held);
  const isSame = now === null ? from === null : isSamePosition(from, now.position);
  if (!isSame) throw new DuckmirrorError("DESTINATION_OVERTAKEN", { name: settings.name });
};

/** Rows, views and position in one transaction. */
const commitDelivery = async ({ lake, settings, source, held, state, tables }: Commit) => {
  const { schema } = settings;
  const place = placeOf(settings);
  const from = state?.position ?? null;
  const names = tables.map(({ name }) => name);
  assertOurs(settings, held, names);
  await prepare(lake, place, held);
  await lake.run(`ATTACH ${literal(source.snapshot)} AS ${SNAPSHOT} (READ_ONLY)`);
  // Over shared tables the views would join rows of different organizations.
  const views = place.organization === null ? await readViews(lake, schema, names) : NO_VIEWS;
  await lake.run("BEGIN");
  await assertNotOvertaken(lake, settings, held, from);
  const brought: BroughtTable[] = [];
  await runAll(
    lake,
    [schema, ...(place.organization === null ? [viewsSchema(schema)] : [])].map(
      (one) => `CREATE SCHEMA IF NOT EXISTS ${LAKE}."${one}"`,
    ),
  );
  if (!held.has(stateTable(place))) await lake.run(createStateSql(place));
  for (const table of tables) brought.push(await bringTable({ lake, place, table, held, from }));
  if (views.digest !== state?.views) await runAll(lake, views.statements);
  const erasing = state?.erasing === true || brought.some(({ erased }) => erased);
  const maintainedAt = state?.maintainedAt ?? systemClock.now();
  const after: LakeState = { position: source.position, views: views.digest, erasing, maintainedAt };
  await runAll(lake, [...writeStateSql(place, after), noteOf(source), "COMMIT"]);
  if (!held.has(stateTable(place))) await lake.run(inlineStateSql(place));
  return { brought, after };
};

/** DuckLake's words for a commit that came second. */
const CONFLICT = /transaction conflict/i;

const overtaken = (error: unknown, { name }: Settings): unknown =>
  CONFLICT.test(detailOf(error)) ? new DuckmirrorError("DESTINATION_OVERTAKEN", { name }, { cause: error }) : error;

const asError = (error: unknown, { name }: Settings): unknown => {
  if (error instanceof DuckmirrorError) return error;
  const detail = detailOf(error);
  return new DuckmirrorError("DESTINATION_AWAY", { name, detail }, { cause: error });
};

/**
 * The process, whose statements end: clients inside DuckDB wait for ever for a server that keeps the connection and sends
 * nothing, and cannot be interrupted. After this error only `close` is of use.
 */
const answering = (duckdb: ExtendedDuckdb, { name, answer_timeout: answerMs }: Settings): ExtendedDuckdb => ({
  ...duckdb,
  run: async (sql) => {
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_resolve, reject) => {
      const detail = `its catalog, or its files, did not answer for ${formatDuration(answerMs)}`;
      timer = setTimeout(() => reject(new DuckmirrorError("DESTINATION_AWAY", { name, detail })), timerMs(answerMs));
    });
    return Promise.race([duckdb.run(sql), silence]).finally(() => clearTimeout(timer));
  },
});

/** Attaches the lake, and ends the process after `use`. */
const withLake = async <T>(
  settings: Settings,
  memory: { readonly limit: string; readonly effort: Effort },
  signal: AbortSignal,
  use: (lake: ExtendedDuckdb) => Promise<T>,
): Promise<T> => {
  const address = lakeAddress(settings, existsSync);
  const { catalogFile } = address;
  const threads = memory.effort === "alone" ? { threads: 1 } : {};
  const duckdb = await openExtended({ ...openingOf(settings, address, memory.limit), ...threads }, signal);
  const lake = answering(duckdb, settings);
  try {
    await lake.run("SET temp_directory = ''");
    if (catalogFile !== null) makeFolders(dirname(catalogFile));
    await lake.run(address.attachSql).catch((error: unknown) => {
      signal.throwIfAborted();
      throw asError(error, settings);
    });
    const result = await use(lake);
    // A catalog of DuckDB is written to its file when it is detached.
    await lake.run(`DETACH ${LAKE}`);
    return result;
  } finally {
    await lake.close();
  }
};

/** Cleans the lake when it is due, or when rows of erased persons must go. */
const tidy = async (lake: ExtendedDuckdb, settings: Settings, state: LakeState): Promise<void> => {
  const place = placeOf(settings);
  const { maintain_every: every, keep_snapshots: keepMs } = settings;
  const now = systemClock.now();
  // A time in the future was set by a clock that has been corrected since.
  const isDue = every > 0 && (now - state.maintainedAt >= every || state.maintainedAt > now);
  if (!state.erasing && !isDue) return;
  if (isDue) {
    await maintain(lake, keepMs);
    await lake.run(setStateSql(place, `maintained_ms = ${now}`));
  }
  if (state.erasing) {
    await purge(lake);
    await lake.run(setStateSql(place, "erasing = false"));
  }
};

const deliverOnce = async (
  lake: ExtendedDuckdb,
  settings: Settings,
  source: DeliverySource,
  signal: AbortSignal,
): Promise<Delivered> => {
  // In this delivery's own folder: what a kill leaves there goes with it (source.ts).
  await lake.run(`SET temp_directory = ${literal(join(dirname(source.snapshot), "spill"))}`);
  const held = await readHeld(lake, settings.schema);
  const state = await readState(lake, placeOf(settings), held);
  const from = state?.position ?? null;
  const tables = await source.tablesSince(from);
  const base = {
    from,
    to: source.position,
    leftOut: await readLeftOut(source.snapshot, tables, null, signal),
    bytes: null,
  };
  if (state !== null && isUpToDate(from, source)) {
    await tidy(lake, settings, state);
    return { ...base, tables: [] };
  }
  const commit = commitDelivery({ lake, settings, source, held, state, tables });
  const { brought, after } = await commit.catch((error: unknown) => {
    throw overtaken(error, settings);
  });
  await lake.run(`DETACH ${SNAPSHOT}`);
  await tidy(lake, settings, after);
  return { ...base, tables: brought.map(({ rows }) => rows) };
};

/** Opens nothing yet. `memory`: limits of DuckDB. */
export const openDucklake = (settings: Settings, { memory }: { readonly memory: MemoryPlan }): Destination => {
  const limits = startMemory(memory);
  const inLake = <T>(signal: AbortSignal, use: (lake: ExtendedDuckdb) => Promise<T>): Promise<T> =>
    goOn(limits, (effort) => withLake(settings, { limit: `${limits.bytes} bytes`, effort }, signal, use));
  return {
    position: () =>
      inLake(new AbortController().signal, async (lake): Promise<Position | null> => {
        const held = await readHeld(lake, settings.schema);
        return (await readState(lake, placeOf(settings), held))?.position ?? null;
      }),
    deliver: (source, signal) => inLake(signal, (lake) => deliverOnce(lake, settings, source, signal)),
    close: async () => {},
  };
};
