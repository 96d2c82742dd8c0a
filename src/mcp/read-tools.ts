// The read-only tools of the MCP server: describe, query, search, brief, changes, freshness, plan. None sends a request, costs a credit
// or writes.
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { parseJson } from "../api/lossless-json.ts";
import { type DictionaryTable, sqlName } from "../catalog/dictionary.ts";
import { SEARCHED_TABLES, TABLE_NAMES } from "../catalog/tables.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { momentBefore } from "../core/time.ts";
import { sqlText } from "../warehouse/duckdb/sql-files.ts";
import type { ReadSql } from "../warehouse/duckdb/statements.ts";
import { describedTable, describedTables } from "../warehouse/file/views.ts";
import { changeInWords, changeTables } from "../warehouse/read/changes/change.ts";
import { readChanges } from "../warehouse/read/changes/read-changes.ts";
import { search } from "../warehouse/read/search/search.ts";
import { firstRows } from "../warehouse/user-sql/query-output.ts";
import {
  answerOf,
  cutToFit,
  failureOf,
  type MirrorBackend,
  provenanceOf,
  readTableStates,
  tablesNamed,
} from "./backend.ts";

// The brief of an account: score and course, people, signals, openings, calls, filings, insights, what changed lately.

const id = z.union([z.number(), z.bigint()]);
const candidateRow = z.object({ account_id: id, name: z.string().nullable(), domain: z.string().nullable() });
type AccountName = z.output<typeof candidateRow>;

const sectionRow = z.object({ section: z.string(), record: z.string() });

type Brief =
  | { readonly status: "found"; readonly brief: JsonObject }
  | { readonly status: "several"; readonly candidates: readonly AccountName[] }
  | { readonly status: "not_found" };

/** True for a text that names this account and no other. */
const isExact = ({ account_id, name, domain }: AccountName, text: string): boolean =>
  [String(account_id), name, domain].some((known) => known?.toLowerCase() === text.toLowerCase());

/** The brief of the account with this id, domain or name. */
const readBrief = async (sql: ReadSql, text: string): Promise<Brief> => {
  const found = await sql.query(sqlText("mcp/find-account.sql"), [text.trim()], candidateRow);
  const [first, second] = found;
  if (first === undefined) return { status: "not_found" };
  const isAmbiguous = second !== undefined && (!isExact(first, text.trim()) || isExact(second, text.trim()));
  if (isAmbiguous) return { status: "several", candidates: found };
  const sections = new Map<string, JsonValue[]>();
  for (const { section, record } of await sql.query(sqlText("mcp/brief.sql"), [String(first.account_id)], sectionRow)) {
    sections.set(section, [...(sections.get(section) ?? []), parseJson(record)]);
  }
  const [account = null] = sections.get("account") ?? [];
  sections.delete("account");
  return { status: "found", brief: { account, ...Object.fromEntries(sections) } };
};

const READS = { readOnlyHint: true, openWorldHint: false } as const;

type AddTool = (server: McpServer, door: MirrorBackend, clock: Pick<Clock, "now">) => void;

/** Answers with what `work` returns, or with its failure. */
const answering = async (work: () => Promise<Readonly<Record<string, unknown>>>) => {
  try {
    return answerOf(await work());
  } catch (error) {
    return failureOf(error);
  }
};

const shape = (table: DictionaryTable) => ({
  table: sqlName(table),
  grain: table.grain,
  key: table.key,
  columns: table.columns.map(({ name, type, meaning, allowed, references }) => ({
    name,
    type,
    meaning,
    ...(allowed === null ? {} : { allowed }),
    ...(references === null ? {} : { references }),
  })),
});

/** Tables and views as a person reads them; with a name, that one with its columns. */
const describe = async (typed: string | undefined): Promise<Readonly<Record<string, unknown>>> => {
  if (typed !== undefined) return shape(await describedTable(typed));
  return { tables: (await describedTables()).map((table) => ({ table: sqlName(table), grain: table.grain })) };
};

const MOST_ROWS = 1_000;

const query = async (door: MirrorBackend, sql: string, most: number, signal: AbortSignal) => {
  const { columns, rows, more } = await door.query(sql, signal, (cursor) => firstRows(cursor, most));
  const { items, cut } = cutToFit(rows, most);
  const states = await door.read(readTableStates);
  return { ...provenanceOf(states, tablesNamed(sql)), columns, rows: items, truncated: more || cut };
};

const addDescribe: AddTool = (server, door) => {
  server.registerTool(
    "describe",
    {
      description:
        "Lists the tables and views of the mirror, or explains the columns of one. Start here before `query`.",
      inputSchema: z.object({ table: z.string().optional().describe("e.g. accounts or marts.account_360") }),
      annotations: READS,
    },
    ({ table }) =>
      answering(async () => {
        const states = await door.read(readTableStates).catch(() => []);
        return {
          ...provenanceOf(states, table === undefined ? TABLE_NAMES : tablesNamed(table)),
          ...(await describe(table)),
        };
      }),
  );
};

const addQuery: AddTool = (server, door) => {
  server.registerTool(
    "query",
    {
      description:
        "Runs one read-only SQL statement (DuckDB) on the mirror. `as_of.<table>(moment)` holds what a table held at a moment.",
      inputSchema: z.object({
        sql: z.string().max(100_000),
        max_rows: z.int().min(1).max(MOST_ROWS).default(200),
      }),
      annotations: READS,
    },
    ({ sql, max_rows }, { mcpReq }) => answering(() => query(door, sql, max_rows, mcpReq.signal)),
  );
};

const addSearch: AddTool = (server, door, clock) => {
  server.registerTool(
    "search",
    {
      description:
        "Finds accounts, contacts, signals, articles, openings, calls, filings and insights by words, the best match first.",
      inputSchema: z.object({
        words: z.string().max(1_000),
        tables: z.array(z.enum(SEARCHED_TABLES)).default([]),
        since: z.string().optional().describe("a date, a time, 24h, 7d or yesterday"),
        limit: z.int().min(1).max(100).default(20),
      }),
      annotations: READS,
    },
    ({ words, tables, since, limit }) =>
      answering(async () => {
        const from = since === undefined ? {} : { since: momentBefore("since", since, clock.now()) };
        return door.read(async (sql, path) => {
          const { items, cut } = cutToFit(await search(sql, { words, tables, limit, ...from }), limit);
          const states = await readTableStates(sql, path);
          return {
            ...provenanceOf(states, tables.length > 0 ? tables : SEARCHED_TABLES),
            results: items,
            truncated: cut,
          };
        });
      }),
  );
};

const addBrief: AddTool = (server, door) => {
  server.registerTool(
    "brief",
    {
      description:
        "All about one account: score and its course, people, signals, openings, calls, filings, insights, recent changes.",
      inputSchema: z.object({ account: z.string().describe("id, domain or name") }),
      annotations: READS,
    },
    ({ account }) =>
      answering(() =>
        door.read(async (sql, path) => ({
          ...provenanceOf(await readTableStates(sql, path), TABLE_NAMES),
          ...(await readBrief(sql, account)),
        })),
      ),
  );
};

const addChanges: AddTool = (server, door, clock) => {
  server.registerTool(
    "changes",
    {
      description: "What changed, in commit order and in words. Ask again with `after` = `next` for more.",
      inputSchema: z.object({
        since: z.string().optional().describe("a date, a time, 24h, 7d or yesterday"),
        after: z.int().min(0).optional().describe("number of the last change that is known"),
        tables: z.array(z.enum(TABLE_NAMES)).default([]),
        limit: z.int().min(1).max(500).default(50),
      }),
      annotations: READS,
    },
    ({ since, after, tables, limit }) =>
      answering(() =>
        door.read(async (sql, path) => {
          const from = since === undefined ? {} : { since: momentBefore("since", since, clock.now()) };
          const request = { after: after ?? null, ...from, limit, tables: changeTables(tables) };
          const page = await readChanges(sql, request);
          const lines = page.changes.map((one) => ({
            n: one.n,
            at: one.at,
            table: one.table,
            key: one.key,
            change: one.change,
            ...changeInWords(one),
          }));
          const { items, cut } = cutToFit(lines, limit);
          const states = await readTableStates(sql, path);
          const used = tables.length > 0 ? tables : TABLE_NAMES;
          return {
            ...provenanceOf(states, used),
            changes: items,
            next: cut ? (items.at(-1)?.n ?? page.next) : page.next,
          };
        }),
      ),
  );
};

const addFreshness: AddTool = (server, door) => {
  server.registerTool(
    "freshness",
    {
      description: "How old each table is, how many rows it holds, and whether it is proven to be complete.",
      inputSchema: z.object({}),
      annotations: READS,
    },
    () =>
      answering(() =>
        door.read(async (sql, path) => {
          const tables = await readTableStates(sql, path);
          return { ...provenanceOf(tables, TABLE_NAMES), tables };
        }),
      ),
  );
};

const addPlan: AddTool = (server, door) => {
  server.registerTool(
    "plan",
    {
      description: "What the next sync would request and why, and its price in credits. Sends nothing.",
      inputSchema: z.object({ streams: z.array(z.string()).default([]) }),
      annotations: READS,
    },
    ({ streams }) =>
      answering(async () => {
        const states = await door.read(readTableStates).catch(() => []);
        return { ...provenanceOf(states, TABLE_NAMES), plan: await door.plan(streams) };
      }),
  );
};

/** Registers the tools that read. */
export const addReadTools: AddTool = (server, door, clock) => {
  for (const add of [addDescribe, addQuery, addSearch, addBrief, addChanges, addFreshness, addPlan]) {
    add(server, door, clock);
  }
};
