// One list of the benchmark's service, in memory: sorted, filtered and paged as API.md says, and moved while it is read.
import type { Random } from "../src/sandbox/random.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface ListRow {
  readonly id: string;
  readonly fields: Fields;
  /** The record as it is sent. */
  readonly json: string;
}

/** What happens to a list after each page that was answered. */
export interface Moves {
  readonly inserts: number;
  readonly deletes: number;
  readonly updates: number;
}

export interface PageQuery {
  readonly page: number;
  readonly perPage: number;
  readonly sortBy: string | null;
  readonly ascending: boolean;
  /** Rows whose field lies after this instant, ISO 8601; null: every row. */
  readonly after: { readonly field: string; readonly than: string } | null;
}

export const listRow = (fields: Fields): ListRow => ({
  id: String(fields.id),
  fields,
  json: JSON.stringify(fields),
});

const compare = (left: unknown, right: unknown): number => {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [a, b] = [String(left), String(right)];
  return a < b ? -1 : a > b ? 1 : 0;
};

/**
 * Missing values last in both directions; the id breaks ties, so that pages of an unchanged list neither overlap nor
 * skip.
 */
const inOrder = (rows: readonly ListRow[], sortBy: string, ascending: boolean): readonly ListRow[] => {
  const sign = ascending ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [left, right] = [a.fields[sortBy] ?? null, b.fields[sortBy] ?? null];
    if (left === null || right === null) {
      if (left !== right) return left === null ? 1 : -1;
    } else {
      const order = compare(left, right);
      if (order !== 0) return sign * order;
    }
    return sign * compare(a.fields.id, b.fields.id);
  });
};

export class PeerList {
  readonly #versionField: string | null;
  readonly #defaultSort: string | null;
  #rows: Map<string, ListRow>;
  #orders = new Map<string, readonly ListRow[]>();

  constructor(rows: readonly ListRow[], order: { readonly version: string | null; readonly sortBy: string | null }) {
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    this.#versionField = order.version;
    this.#defaultSort = order.sortBy;
  }

  row(id: string): ListRow | undefined {
    return this.#rows.get(id);
  }

  /** Id and ms of the last change of every row; 0 where the resource has no date of change. */
  versions(): readonly (readonly [id: string, version: number])[] {
    const field = this.#versionField;
    return [...this.#rows.values()].map(({ id, fields }) => [id, field === null ? 0 : versionOf(fields[field])]);
  }

  page(query: PageQuery): { readonly rows: readonly ListRow[]; readonly total: number } {
    const sortBy = query.sortBy ?? this.#defaultSort;
    const key = `${sortBy}/${query.ascending}`;
    const known = this.#orders.get(key);
    const order =
      known ??
      (sortBy === null ? [...this.#rows.values()] : inOrder([...this.#rows.values()], sortBy, query.ascending));
    if (known === undefined) this.#orders.set(key, order);
    const { after } = query;
    const from = after === null ? 0 : Date.parse(after.than);
    const matching = after === null ? order : order.filter(({ fields }) => versionOf(fields[after.field]) > from);
    const start = (query.page - 1) * query.perPage;
    return { rows: matching.slice(start, start + query.perPage), total: matching.length };
  }

  /** New rows are copies of others under new ids, dated `now`, as updated ones are. */
  move(moves: Moves, random: Random, now: number): void {
    const ids = [...this.#rows.keys()];
    for (const id of random.sample(ids, moves.deletes)) this.#rows.delete(id);
    this.#touch(moves.updates, random, now);
    let highest = Math.max(
      0,
      ...[...this.#rows.values()].map(({ fields: { id } }) => (typeof id === "number" ? id : 0)),
    );
    for (const id of random.sample([...this.#rows.keys()], moves.inserts)) {
      const fields = this.#rows.get(id)?.fields ?? {};
      highest += random.int(1, 9);
      const row = listRow({ ...this.#dated(fields, now), id: typeof fields.id === "number" ? highest : random.id(20) });
      this.#rows.set(row.id, row);
    }
    this.#orders = new Map();
  }

  /** Changes a share of the rows, at least one. */
  change(share: number, random: Random, now: number): void {
    this.#touch(Math.max(1, Math.round(this.#rows.size * share)), random, now);
    this.#orders = new Map();
  }

  #touch(count: number, random: Random, now: number): void {
    for (const id of random.sample([...this.#rows.keys()], count)) {
      const fields = this.#rows.get(id)?.fields ?? {};
      this.#rows.set(id, listRow({ ...this.#dated(fields, now), mainScore: random.int(0, 100) }));
    }
  }

  #dated(fields: Fields, now: number): Fields {
    return this.#versionField === null ? fields : { ...fields, [this.#versionField]: new Date(now).toISOString() };
  }
}

const versionOf = (value: unknown): number => (typeof value === "string" ? Date.parse(value) : 0);
