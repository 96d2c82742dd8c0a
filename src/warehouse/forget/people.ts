// Finds the contacts to erase from ids or addresses, and gathers every text that identifies them from tables and
// archive, including old versions of their records.
import { z } from "zod";
import { forgottenId } from "../../core/forgotten.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { ForgottenList } from "../archive/forgotten-list.ts";
import type { Sql } from "../duckdb/statements.ts";
import { openChangeLog } from "../load/change-log.ts";
import { forgottenKind } from "../load/change-numbers.ts";
import { type ArchiveBodies, archivedContacts } from "./archive.ts";
import type { Person, Trace } from "./rows.ts";

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
const idRow = z.object({ id: z.string() });

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
  return (await sql.query(query, [[...emails]], idRow)).map(({ id }) => id);
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
