// Finds the contacts to erase from ids or addresses, gathers every text that identifies them from tables and archive,
// including old versions of their records, and erases them from the working database.

import { z } from "zod";
import { forgottenId, type IdEraser } from "../../core/forgotten.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { formsOf } from "../../core/text/escaped-forms.ts";
import { quoted } from "../../core/text/sql-text.ts";
import type { ForgottenList } from "../archive/forgotten-list.ts";
import { textsOf } from "../duckdb/sql-files.ts";
import { bigintCell, type Sql, type SqlValue } from "../duckdb/statements.ts";
import { forgottenKind, openChangeLog } from "../load/change-log.ts";
import { type ArchiveBodies, archivedContacts } from "./archive.ts";

// Erases people from the working database: their rows and versions, rejected records, and their ids in the ledger, in
// cursors and in the service's request history. SQL is generated where the table varies; every value is bound.

/** Everything known of a contact to be erased. */
export interface Person {
  readonly id: string;
  readonly hash: string;
  /** Texts that identify the contact: id, addresses, numbers, name. */
  readonly traces: readonly Trace[];
}

export interface Trace {
  readonly kind: "id" | "email" | "phone" | "address" | "name";
  readonly text: string;
}

/** Text columns outside the contacts table that may name a contact. */
const NAMING: readonly { readonly path: string; readonly columns: readonly string[]; readonly own: string }[] = [
  { path: "sync.requests", columns: ["url", "scope", "error"], own: "stream = 'contacts'" },
  { path: "sync.stream_state", columns: ["cursor", "walk_id", "error"], own: "stream = 'contacts'" },
  { path: "sync.runs", columns: ["summary", "error"], own: "false" },
  { path: "sync.rejects", columns: ["record", "reason"], own: "table_name = 'usage_requests'" },
  { path: "main.usage_requests", columns: ["endpoint", "input", "error", "_extra"], own: "true" },
  { path: "history.usage_requests", columns: ["endpoint", "input", "error", "_extra"], own: "true" },
];

const cells = z.array(z.string().nullable());
const namingRow = z.object({ row: bigintCell, own: z.boolean(), cells });

/** A drift value with an id goes: it is part of the row's key, and two ids may have the same replacement. */
const dropDrift = async (tx: Sql, ids: readonly string[], eraser: IdEraser): Promise<void> => {
  const query = "SELECT DISTINCT detail FROM sync.schema_drift WHERE regexp_matches(detail, $1)";
  const details = await textsOf(tx, query, [ids.map(formsOf).join("|")]);
  const theirs = details.filter((detail) => eraser.anywhere(detail) !== detail);
  await tx.run("DELETE FROM sync.schema_drift WHERE detail IN (SELECT unnest($1))", [theirs]);
};

const cleanTexts = async (tx: Sql, ids: readonly string[], eraser: IdEraser): Promise<void> => {
  for (const { path, columns, own } of NAMING) {
    const text = columns.map((column) => `CAST(${quoted(column)} AS VARCHAR)`);
    const rows = await tx.query(
      `SELECT rowid AS row, ${own} AS own, [${text.join(", ")}] AS cells FROM ${path}
       WHERE regexp_matches(concat_ws(' ', ${text.join(", ")}), $1)`,
      [ids.map(formsOf).join("|")],
      namingRow,
    );
    for (const { row, own: mine, cells: before } of rows) {
      const clean = (cell: string | null) => (cell === null ? null : mine ? eraser.among(cell) : eraser.anywhere(cell));
      const after = before.map(clean);
      const changed = columns.flatMap((column, at) => (after[at] === before[at] ? [] : [{ column, at }]));
      if (changed.length === 0) continue;
      const sets = changed.map(({ column }, position) => `${quoted(column)} = $${position + 1}`);
      const values: SqlValue[] = changed.map(({ at }) => after[at] ?? null);
      await tx.run(`UPDATE ${path} SET ${sets.join(", ")} WHERE rowid = $${values.length + 1}`, [...values, row]);
    }
  }
};

const recordRow = z.object({ row: bigintCell, record: z.string() });

/** A rejected record has no usable key: it belongs to them if it holds an address or number of theirs. */
const dropRejects = async (tx: Sql, people: readonly Person[]): Promise<number> => {
  const telling = people.flatMap(({ traces }) => traces.filter(({ kind }) => kind !== "name").map(({ text }) => text));
  const rejects = await tx.query(
    "SELECT rowid AS row, record FROM sync.rejects WHERE table_name = 'contacts'",
    [],
    recordRow,
  );
  const theirs = rejects.filter(({ record }) => telling.some((text) => record.includes(JSON.stringify(text))));
  for (const { row } of theirs) await tx.run("DELETE FROM sync.rejects WHERE rowid = $1", [row]);
  return theirs.length;
};

export interface ForgottenRows {
  /** Rows of main.contacts. */
  readonly current: number;
  /** Rows of history.contacts. */
  readonly versions: number;
  readonly rejects: number;
}

/** Erases the people from every table, inside `tx`. */
export const forgetRows = async (tx: Sql, people: readonly Person[], eraser: IdEraser): Promise<ForgottenRows> => {
  const ids = people.map(({ id }) => id);
  const among = "IN (SELECT unnest($1))";
  const current = await tx.run(`DELETE FROM main.contacts WHERE id ${among}`, [ids]);
  const versions = await tx.run(`DELETE FROM history.contacts WHERE id ${among}`, [ids]);
  await tx.run(`DELETE FROM sync.walk_seen WHERE table_name = 'contacts' AND id ${among}`, [ids]);
  const values = people.flatMap(({ traces }) => traces.map(({ text }) => text));
  await tx.run(`DELETE FROM sync.schema_drift WHERE table_name = 'contacts' AND detail ${among}`, [values]);
  await tx.run("UPDATE sync.checks SET sample = NULL");
  const rejects = await dropRejects(tx, people);
  if (ids.length > 0) {
    await dropDrift(tx, ids, eraser);
    await cleanTexts(tx, ids, eraser);
  }
  return { current, versions, rejects };
};

// Redacts erased contacts in the change feed: their changes keep number, time and kind, and lose key and values. The
// rows that go now are one more delete each.

const changeRow = z.object({
  n: z.number(),
  id: z.string(),
  change: z.enum(["insert", "update", "delete"]),
  run_id: z.string().nullable(),
  at: z.number(),
});

/** Part of the people in the feed, as the journal records it. */
export interface FeedTraces {
  /** Their changes, in order. */
  readonly changes: readonly {
    readonly n: number;
    readonly hash: string;
    readonly change: "insert" | "update" | "delete";
    readonly runId: string | null;
    readonly at: number;
  }[];
  /** Hashes of those who have a row in the contacts table, in the order of their ids. */
  readonly deleted: readonly string[];
}

/** Changes and present rows of the people. */
export const findInFeed = async (sql: Sql, people: readonly Person[]): Promise<FeedTraces> => {
  const hashes = new Map(people.map(({ id, hash }) => [id, hash]));
  const hashOf = (id: string) => hashes.get(id) ?? "";
  const ids = [...hashes.keys()];
  const changes = await sql.query(
    `SELECT c.n, c.key_1 AS id, b.change, b.run_id, b."at"
     FROM (FROM sync.changes WHERE key_1 IN (SELECT unnest($1))) AS c
     ASOF JOIN sync.change_batches AS b ON c.n >= b.first_n
     WHERE b.table_name = 'contacts' ORDER BY c.n`,
    [ids],
    changeRow,
  );
  const current = await sql.query(
    "SELECT id FROM main.contacts WHERE id IN (SELECT unnest($1)) ORDER BY id",
    [ids],
    z.object({ id: z.string() }),
  );
  return {
    changes: changes.map(({ n, id, change, run_id: runId, at }) => ({ n, hash: hashOf(id), change, runId, at })),
    deleted: current.map(({ id }) => hashOf(id)),
  };
};

/** Redacts them inside `tx`. `now`: ms since the epoch. */
export const redactInFeed = async (tx: Sql, { changes, deleted }: FeedTraces, now: number): Promise<void> => {
  const numbers = new Map<string, string[]>();
  for (const { n, hash } of changes) numbers.set(hash, [...(numbers.get(hash) ?? []), String(n)]);
  for (const [hash, theirs] of numbers) {
    await tx.run("UPDATE sync.changes SET key_1 = $1 WHERE n IN (SELECT CAST(unnest($2) AS BIGINT))", [
      forgottenId(hash),
      theirs,
    ]);
  }
  const log = openChangeLog(tx);
  await log.addRedacted(forgottenKind(now), deleted.map(forgottenId));
  await log.end();
};

const text = z.string().nullable();
const contactRow = z.object({
  id: z.string(),
  email: text,
  phone: text,
  network: text,
  picture: text,
  first: text,
  last: text,
});

/** Shorter names occur in other texts by chance. */
const SHORTEST_NAME = 8;
const SHORTEST_TRACE = 6;

const VERSIONS = `SELECT id, email, phone, professional_network_url AS network, profile_picture_url AS picture,
  first_name AS first, last_name AS last FROM main.contacts
UNION SELECT id, email, phone, professional_network_url, profile_picture_url, first_name, last_name FROM history.contacts`;

const tracesOf = (row: z.output<typeof contactRow>): readonly Trace[] => {
  const name = row.first !== null && row.last !== null ? `${row.first} ${row.last}` : "";
  const traces: readonly { readonly kind: Trace["kind"]; readonly text: string | null }[] = [
    { kind: "id", text: row.id },
    { kind: "email", text: row.email },
    { kind: "phone", text: row.phone },
    { kind: "address", text: row.network },
    { kind: "address", text: row.picture },
    { kind: "name", text: name.length >= SHORTEST_NAME ? name : null },
  ];
  return traces.flatMap(({ kind, text: found }) =>
    found !== null && (kind === "id" || found.trim().length >= SHORTEST_TRACE) ? [{ kind, text: found }] : [],
  );
};

const textOf = (value: JsonValue | undefined): string | null =>
  typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? String(value) : null;

const rowOfRecord = (record: JsonObject): z.output<typeof contactRow> | null => {
  const id = textOf(record.id);
  if (id === null) return null;
  return {
    id,
    email: textOf(record.email),
    phone: textOf(record.phone),
    network: textOf(record.professionalNetworkUrl),
    picture: textOf(record.profilePictureUrl),
    first: textOf(record.firstName),
    last: textOf(record.lastName),
  };
};

/** Ids of contacts that have, or had, one of these e-mail addresses; capitals make no difference. */
export const idsByEmail = async (sql: Sql, emails: readonly string[]): Promise<readonly string[]> => {
  const query = `SELECT DISTINCT id FROM (SELECT id, email FROM main.contacts UNION ALL SELECT id, email FROM history.contacts)
    WHERE lower(email) IN (SELECT lower(unnest($1))) ORDER BY id`;
  return textsOf(sql, query, [[...emails]]);
};

interface GatheredPerson extends Person {
  /** A row, an old version or an archived record of the contact exists. */
  readonly mirrored: boolean;
}

/** Gathers everything known of the contacts whose id passes `wanted`. */
const gather = async (
  sql: Sql,
  archive: { readonly dir: string; readonly bodies: ArchiveBodies },
  wanted: (id: string) => boolean,
): Promise<ReadonlyMap<string, readonly Trace[]>> => {
  const found = new Map<string, Map<string, Trace>>();
  const add = (row: z.output<typeof contactRow>) => {
    if (!wanted(row.id)) return;
    const traces = found.get(row.id) ?? new Map<string, Trace>();
    for (const trace of tracesOf(row)) traces.set(`${trace.kind}\n${trace.text}`, trace);
    found.set(row.id, traces);
  };
  for (const row of await sql.query(VERSIONS, [], contactRow)) add(row);
  for await (const record of archivedContacts(archive.dir, archive.bodies)) {
    const row = isJsonObject(record) ? rowOfRecord(record) : null;
    if (row !== null) add(row);
  }
  return new Map([...found].map(([id, traces]) => [id, [...traces.values()]]));
};

/** The people with these ids, and people of an unfinished erasure as far as traces of them remain. */
export const gatherPeople = async (
  sql: Sql,
  archive: { readonly dir: string; readonly bodies: ArchiveBodies },
  ids: readonly string[],
  list: ForgottenList,
): Promise<readonly GatheredPerson[]> => {
  const pending = new Set(list.entries.filter(({ done }) => !done).map(({ hash }) => hash));
  const isPending = (id: string) => pending.size > 0 && pending.has(list.hashOf(id));
  const found = await gather(sql, archive, (id) => ids.includes(id) || isPending(id));
  const all = new Set([...ids, ...found.keys()]);
  return [...all].map((id) => ({
    id,
    hash: list.hashOf(id),
    mirrored: found.has(id),
    traces: found.get(id) ?? [{ kind: "id", text: id }],
  }));
};
