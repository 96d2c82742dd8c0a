// Single records by id. Ids that are asked for while a statement is under way wait for it, and are read by the next one
// together: a statement for sixteen records takes hardly longer than for one.
import type { FieldSpec } from "../../catalog/fields.ts";
import type { TableName } from "../../catalog/tables.ts";
import type { RecordText } from "../query/list-query.ts";
import { idIn, type Reader, readRecords } from "../reader.ts";

export interface Lookup {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append the content of `_extra`. */
  readonly extra: boolean;
}

export type FindRecord = (what: Lookup, id: string) => Promise<RecordText | undefined>;

type Found = ReadonlyMap<string, RecordText>;

/** Records of one table with the same fields. `ids`: those of the statement that is to start next. */
interface Queue {
  ids: Set<string>;
  next: Promise<Found> | null;
  running: Promise<unknown>;
}

const nameOf = ({ table, fields, extra }: Lookup): string =>
  [table, extra, ...fields.map(({ column }) => column)].join(" ");

/** Finds records in `reader`. Its queues are as many as there are choices of fields under way. */
export const createLookups = (reader: Reader): FindRecord => {
  const queues = new Map<string, Queue>();

  const read = async (what: Lookup, ids: ReadonlySet<string>): Promise<Found> => {
    const records = await readRecords(reader, { ...what, where: idIn(what.table, [...ids]) });
    return new Map(records.map((record) => [record.key, record]));
  };

  /** Starts the next statement when the running one is done. */
  const startNext = (name: string, queue: Queue, what: Lookup): Promise<Found> => {
    const next = queue.running.then(() => {
      const { ids } = queue;
      queue.ids = new Set();
      queue.next = null;
      const reading = read(what, ids);
      queue.running = reading.then(
        () => undefined,
        () => undefined,
      );
      void queue.running.then(() => {
        if (queue.next === null) queues.delete(name);
      });
      return reading;
    });
    queue.next = next;
    return next;
  };

  return async (what, id) => {
    const name = nameOf(what);
    const queue = queues.get(name) ?? { ids: new Set<string>(), next: null, running: Promise.resolve() };
    queues.set(name, queue);
    queue.ids.add(id);
    return (await (queue.next ?? startNext(name, queue, what))).get(id);
  };
};
