// Answers of `/v1` that stay true: a snapshot never changes, so neither does what it answers to an address. Bounded in
// bytes; the answers that were sent longest ago go first.
import { createKept } from "../replica/kept/kept.ts";

/** Bytes of an answer, and what its headers and its line in the audit trail need. */
export interface KeptAnswer {
  readonly bytes: Buffer;
  readonly rows: number;
}

export interface AnswerCache {
  /** The answer under this key; `write` is called once for all who ask for it at the same time. */
  get(key: string, write: () => Promise<KeptAnswer>): Promise<KeptAnswer>;
}

/** What an entry takes beside its bytes: key, objects, place in the map. */
const ENTRY_BYTES = 512;

/** A cache of at most `mostBytes`. A failed `write` is not kept. */
export const createAnswerCache = (mostBytes: number): AnswerCache => {
  const kept = createKept<KeptAnswer>(mostBytes);
  const pending = new Map<string, Promise<KeptAnswer>>();

  const written = async (key: string, write: () => Promise<KeptAnswer>): Promise<KeptAnswer> => {
    try {
      const answer = await write();
      kept.set(key, answer, answer.bytes.length + ENTRY_BYTES);
      return answer;
    } finally {
      pending.delete(key);
    }
  };

  return {
    get: async (key, write) => {
      const known = kept.get(key);
      if (known !== undefined) return known;
      const started = pending.get(key);
      if (started !== undefined) return started;
      const writing = written(key, write);
      pending.set(key, writing);
      return writing;
    },
  };
};
