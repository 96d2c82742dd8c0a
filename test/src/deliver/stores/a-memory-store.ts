// A store of objects in memory, for tests of what is written in which order.
import type { Condition, ObjectStore } from "../../../../src/deliver/stores/object-store.ts";

export interface MemoryStore extends ObjectStore {
  /** Key -> text. */
  readonly texts: Map<string, string>;
  /** Every write and delete, in order: `put key`, `delete key`. */
  readonly log: string[];
}

export interface MemoryStoreChoice {
  /** It writes whatever conditions of this kind say. */
  readonly ignores?: "ifMatch" | "ifNoneMatch";
  /** Addresses of its keys begin with it; null: none is known. */
  readonly address?: string | null;
  /** Called before a write takes place. */
  readonly before?: (key: string, store: MemoryStore) => void;
}

export const aMemoryStore = (choice: MemoryStoreChoice = {}): MemoryStore => {
  const { ignores, address = "s3://lake/set/", before } = choice;
  const texts = new Map<string, string>();
  const log: string[] = [];
  const etagOf = (key: string): string => `etag of ${texts.get(key) ?? "nothing"}`;
  const holds = (key: string, condition: Condition): boolean => {
    if ("ifMatch" in condition) return ignores === "ifMatch" || (texts.has(key) && etagOf(key) === condition.ifMatch);
    return ignores === "ifNoneMatch" || !texts.has(key);
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
      if (condition !== null && !holds(key, condition)) return false;
      log.push(`put ${key}`);
      texts.set(key, text);
      return true;
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
