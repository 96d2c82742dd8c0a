// A store of objects in memory, for tests of what is written in which order.
import type { Condition, ObjectStore } from "../../../../src/deliver/stores/object-store.ts";

export interface MemoryStore extends ObjectStore {
  /** Key -> text. */
  readonly texts: Map<string, string>;
  /** Every write and delete, in order: `put key`, `delete key`. */
  readonly log: string[];
}

export interface MemoryStoreChoice {
  /** It writes whatever the condition says: `all`, or only those of one kind. */
  readonly ignores?: "ifMatch" | "ifNoneMatch";
  /** Addresses of its keys begin with it; null: none is known. */
  readonly address?: string | null;
  /** Called before a write takes place. */
  readonly before?: (key: string, store: MemoryStore) => void;
  /** The answer of a write of this key is lost, and the write is then repeated. */
  readonly losesAnswerOf?: string;
}

export const aMemoryStore = (choice: MemoryStoreChoice = {}): MemoryStore => {
  const { ignores, address = "s3://lake/set/", before, losesAnswerOf } = choice;
  const texts = new Map<string, string>();
  const log: string[] = [];
  const etagOf = (key: string): string => `etag of ${texts.get(key) ?? "nothing"}`;
  const holds = (key: string, condition: Condition): boolean => {
    if ("ifMatch" in condition) return ignores === "ifMatch" || (texts.has(key) && etagOf(key) === condition.ifMatch);
    return ignores === "ifNoneMatch" || !texts.has(key);
  };
  const write = (key: string, text: string, condition: Condition | null): boolean => {
    if (condition !== null && !holds(key, condition)) return false;
    log.push(`put ${key}`);
    texts.set(key, text);
    return true;
  };
  const store: MemoryStore = {
    texts,
    log,
    name: "files",
    address: (key) => (address === null ? null : `${address}${key}`),
    get: async (key) => {
      const text = texts.get(key);
      return text === undefined ? null : { text, etag: etagOf(key) };
    },
    put: async (key, text, condition) => {
      before?.(key, store);
      const written = write(key, text, condition);
      return key === losesAnswerOf ? write(key, text, condition) : written;
    },
    upload: async () => undefined,
    download: async () => false,
    list: async function* () {
      for (const key of texts.keys()) yield { key, modifiedAt: 0 };
    },
    delete: async (keys) => {
      for (const key of keys) {
        log.push(`delete ${key}`);
        texts.delete(key);
      }
    },
    close: () => undefined,
  };
  return store;
};
