// Records by key. Keys that are asked for while a statement is under way wait for it, and are read by the next one
// together: sixteen records cost hardly more than one, and eight pages of scattered rows half of eight statements.
import { type RecordColumns, type RecordText, recordsByKey } from "./query/list-query.ts";
import { type Reader, readStatement } from "./reader.ts";

/** At least the records asked for, by their keys, as far as they exist. */
export type Found = ReadonlyMap<string, RecordText>;

/** Only for tables whose key is one column. */
export type FindRecords = (what: RecordColumns, keys: readonly string[]) => Promise<Found>;

/** Statements of one choice of columns under way at once. */
const MOST_AT_ONCE = 2;
/** Keys of one statement, unless a single page asks for more: everyone in it waits for all of them. */
const MOST_KEYS = 1000;

interface Waiting {
  readonly keys: readonly string[];
  readonly resolve: (found: Promise<Found>) => void;
}

/** Those who asked for the same columns of one table. */
interface Queue {
  readonly waiting: Waiting[];
  running: number;
}

const nameOf = ({ table, fields, extra, links = [] }: RecordColumns): string =>
  JSON.stringify([table, extra, fields.map(({ column }) => column), links]);

/** The first of them, as many as one statement reads. */
const takeNext = (waiting: Waiting[]): readonly Waiting[] => {
  let keys = 0;
  const fitting = waiting.findIndex((each, index) => {
    keys += each.keys.length;
    return index > 0 && keys > MOST_KEYS;
  });
  return waiting.splice(0, fitting === -1 ? waiting.length : fitting);
};

/** Finds records in `reader`. Its queues are as many as there are choices of columns under way. */
export const createLookups = (reader: Reader): FindRecords => {
  const queues = new Map<string, Queue>();

  const read = async (what: RecordColumns, keys: ReadonlySet<string>): Promise<Found> => {
    const records = await readStatement(reader, recordsByKey(what, [...keys]));
    return new Map(records.map((record) => [record.key, record]));
  };

  const startNext = (name: string, queue: Queue, what: RecordColumns): void => {
    const next = takeNext(queue.waiting);
    const reading = read(what, new Set(next.flatMap(({ keys }) => keys)));
    queue.running += 1;
    for (const { resolve } of next) resolve(reading);
    const ended = () => {
      queue.running -= 1;
      if (queue.waiting.length > 0) startNext(name, queue, what);
      else if (queue.running === 0) queues.delete(name);
    };
    void reading.then(ended, ended);
  };

  return (what, keys) => {
    const name = nameOf(what);
    const queue = queues.get(name) ?? { waiting: [], running: 0 };
    queues.set(name, queue);
    return new Promise((resolve) => {
      queue.waiting.push({ keys, resolve });
      if (queue.running < MOST_AT_ONCE) startNext(name, queue, what);
    });
  };
};
