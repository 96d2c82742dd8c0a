// Answers of `/v1` that stay true: a snapshot never changes, so neither does what it answers to an address. Bounded in
// bytes; the answers that were sent longest ago go first.

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
  /** In the order of their last use. */
  const kept = new Map<string, KeptAnswer>();
  const pending = new Map<string, Promise<KeptAnswer>>();
  let total = 0;

  const sizeOf = ({ bytes }: KeptAnswer): number => bytes.length + ENTRY_BYTES;
  const keep = (key: string, answer: KeptAnswer): void => {
    kept.set(key, answer);
    total += sizeOf(answer);
    for (const [oldest, old] of kept) {
      if (total <= mostBytes) break;
      kept.delete(oldest);
      total -= sizeOf(old);
    }
  };
  const written = async (key: string, write: () => Promise<KeptAnswer>): Promise<KeptAnswer> => {
    try {
      const answer = await write();
      keep(key, answer);
      return answer;
    } finally {
      pending.delete(key);
    }
  };

  return {
    get: async (key, write) => {
      const known = kept.get(key);
      if (known !== undefined) {
        kept.delete(key);
        kept.set(key, known);
        return known;
      }
      const waiting = pending.get(key) ?? written(key, write);
      if (!kept.has(key)) pending.set(key, waiting);
      return waiting;
    },
  };
};
