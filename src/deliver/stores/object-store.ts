// `ObjectStore`: the interface of a set of files in a folder or in object storage (folder-store.ts, s3-store.ts, azure-store.ts), with
// conditional writes, and the functions that all of them share: failures, piece sizes, lists. Keys are relative, with forward slashes.
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { DuckmirrorError, detailOf, hasSystemCode } from "../../core/errors.ts";
import { hasMoreValues, jsonOrNull } from "../../core/json.ts";

// Failed calls of object storage, whatever the service, as errors of this program. PURE.

export interface Failure {
  /** Code of the service, or name of the SDK's error. */
  readonly name: string;
  /** null: no response. */
  readonly status: number | null;
  readonly detail: string;
}

/** Message of an error. Errors of a socket with several addresses have none of their own. */
export const messageOf = (error: Error): string => {
  const code = "code" in error && typeof error.code === "string" ? error.code : null;
  return detailOf(error) === "" ? (code ?? error.name) : detailOf(error);
};

/** `message` with the name of the failure and the status. */
export const detailed = (name: string, status: number | null, message: string): string => {
  const named = name === "Error" || message.includes(name) ? message : `${name}: ${message}`;
  return status === null ? named : `${named} (HTTP ${status})`;
};

/** Error for the user. `refused`: names of failures that are about credentials. */
export const failureError = (
  { name, status, detail }: Failure,
  refused: RegExp,
  destination: string,
  cause: unknown,
): DuckmirrorError => {
  const context = { name: destination, detail };
  if (refused.test(name) || status === 401 || status === 403) {
    return new DuckmirrorError("DESTINATION_REFUSED", context, { cause });
  }
  const isRefusal = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new DuckmirrorError(isRefusal ? "DESTINATION_FAILED" : "DESTINATION_AWAY", context, { cause });
};

// Shared code of the object stores: calls with translated errors, packages that are installed only if a destination needs them,
// and files sent in pieces.

const MIB = 2 ** 20;
/** A larger file is sent in pieces, each repeated on its own. */
export const SINGLE_PUT_BYTES = 16 * MIB;
const PIECE_BYTES = 8 * MIB;
/** Longest time in which a request moves no byte, unless it is configured, ms. */
export const ANSWER_MS = 60_000;

export const PIECES_AT_ONCE = 4;

/** `most`: pieces that the service takes for one file. */
export const pieceBytes = (bytes: number, most: number): number => Math.max(PIECE_BYTES, Math.ceil(bytes / most));

/** A list of a mirror of a terabyte is as large. */
const MOST_TEXT_BYTES = 64 * MIB;
const MOST_VALUES = 5_000_000;

/** The text of a list or note. Throws DESTINATION_FAILED for one that would take all memory: the service may be in others' hands. */
export const smallText = async (body: AsyncIterable<Uint8Array>, name: string, key: string): Promise<string> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MOST_TEXT_BYTES) {
      const detail = `${key} has more than ${MOST_TEXT_BYTES / MIB} MiB`;
      throw new DuckmirrorError("DESTINATION_FAILED", { name, detail });
    }
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString("utf8");
  if (!hasMoreValues(text, MOST_VALUES)) return text;
  throw new DuckmirrorError("DESTINATION_FAILED", { name, detail: `${key} has more than ${MOST_VALUES} values` });
};

export const contentType = (key: string): string => (key.endsWith(".json") ? "application/json" : "text/plain");

/**
 * How a kind of store makes its calls. `storeError` makes the error for the user; `isMissing`: there is no such object, which
 * `found` returns as null.
 */
export const storeCalls = (
  storeError: (error: unknown, name: string) => unknown,
  isMissing: (error: unknown) => boolean,
) => ({
  call: async <T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      // SDKs throw errors of their own for an abort.
      signal.throwIfAborted();
      throw storeError(error, name);
    }
  },
  found: async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  },
});

/** Loads packages. Throws DESTINATION_PACKAGE_MISSING, with what to install. */
export const loadPackages = async <T>(name: string, packages: string, from: () => Promise<T>): Promise<T> => {
  try {
    return await from();
  } catch (error) {
    if (!hasSystemCode(error, "ERR_MODULE_NOT_FOUND")) throw error;
    throw new DuckmirrorError("DESTINATION_PACKAGE_MISSING", { name, kind: "parquet", packages }, { cause: error });
  }
};

/** Condition of a write, checked by the store in one step with the write. */
export type Condition = { readonly ifMatch: string } | { readonly ifNoneMatch: "*" };

/** A short text with the tag that a conditional write names. */
export interface StoredText {
  readonly text: string;
  readonly etag: string;
}

export interface StoredFile {
  readonly key: string;
  /** ms since the epoch, by the store's clock. */
  readonly modifiedAt: number;
}

/** A finished local file. */
export interface LocalFile {
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * Every call throws DESTINATION_* errors with a hint, and the reason of `signal` when it aborts. A file is seen by
 * readers whole or not at all.
 */
export interface ObjectStore {
  /** Name of the destination, for messages. */
  readonly name: string;
  /** Address that query engines on other machines know a key by; null: there is none. */
  address(key: string): string | null;
  /** null: nothing has this key. */
  get(key: string, signal: AbortSignal): Promise<StoredText | null>;
  /** `condition` null: always. False: the condition does not hold, and nothing was written. */
  put(key: string, text: string, condition: Condition | null, signal: AbortSignal): Promise<boolean>;
  /** Sends a file and lets the store check its sum. */
  upload(key: string, file: LocalFile, signal: AbortSignal): Promise<void>;
  /** Writes what has this key to `path`, which must not exist. False: nothing has it. */
  download(key: string, path: string, signal: AbortSignal): Promise<boolean>;
  list(signal: AbortSignal): AsyncIterable<StoredFile>;
  /** A missing key is no failure. */
  delete(keys: readonly string[], signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Error for a store that writes although the condition does not hold, or knows no conditions. */
export const unconditional = (name: string): DuckmirrorError =>
  new DuckmirrorError("DESTINATION_UNCONDITIONAL", { name });

// Tries whether a store keeps conditions of writes. Servers exist that ignore them; there, two deliveries at once would mix
// their sets.

/** Throws DESTINATION_UNCONDITIONAL. Costs five requests, once, before the first delivery. */
export const assertConditional = async (store: ObjectStore, signal: AbortSignal): Promise<void> => {
  const key = `_conditions-${randomUUID()}`;
  await store.put(key, "1", null, signal);
  try {
    const isKept = async () => {
      if (await store.put(key, "2", { ifNoneMatch: "*" }, signal)) return false;
      return !(await store.put(key, "3", { ifMatch: '"00000000000000000000000000000000"' }, signal));
    };
    if (!(await isKept())) throw unconditional(store.name);
  } finally {
    await store.delete([key], signal);
  }
};

/**
 * Writes a text where the store still has what was read (null: nothing). False: another writer was first. A write whose answer was lost
 * is repeated, and then refused because of itself; so texts must differ between writers.
 */
export const replaceText = async (
  store: ObjectStore,
  key: string,
  text: string,
  before: { readonly etag: string } | null,
  signal: AbortSignal,
): Promise<boolean> => {
  const condition = before === null ? { ifNoneMatch: "*" as const } : { ifMatch: before.etag };
  if (await store.put(key, text, condition, signal)) return true;
  return (await store.get(key, signal))?.text === text;
};

/** The list of what a destination holds, with the tag that replaces it. */
export interface ReadList<T> {
  readonly list: T;
  readonly etag: string;
}

/** null: the store holds none yet. Throws DESTINATION_FAILED where it holds something else. */
export const readList = async <T>(
  store: ObjectStore,
  key: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<ReadList<T> | null> => {
  const found = await store.get(key, signal);
  if (found === null) return null;
  const read = schema.safeParse(jsonOrNull(found.text));
  if (read.success) return { list: read.data, etag: found.etag };
  const detail = `its ${key} is not one of a delivery (${detailOf(read.error).slice(0, 200)})`;
  throw new DuckmirrorError("DESTINATION_FAILED", { name: store.name, detail }, { cause: read.error });
};

/** Replaces the list that was read. Throws DESTINATION_OVERTAKEN when another delivery did so meanwhile. */
export const commitList = async <T>(
  store: ObjectStore,
  key: string,
  list: T,
  before: ReadList<T> | null,
  signal: AbortSignal,
): Promise<void> => {
  if (await replaceText(store, key, `${JSON.stringify(list, null, 1)}\n`, before, signal)) return;
  throw new DuckmirrorError("DESTINATION_OVERTAKEN", { name: store.name });
};

/** Work with a store of this name, whose errors about destinations become those of `failed`. */
export const withStore = async <T>(
  name: string,
  open: () => Promise<ObjectStore>,
  failed: (detail: string, cause: unknown) => DuckmirrorError,
  work: (store: ObjectStore) => Promise<T>,
): Promise<T> => {
  try {
    const store = await open();
    try {
      return await work(store);
    } finally {
      store.close();
    }
  } catch (error) {
    if (!(error instanceof DuckmirrorError) || error.code === "DESTINATION_PACKAGE_MISSING") throw error;
    if (!error.code.startsWith("DESTINATION_") && error.code !== "CONFIG_INVALID") throw error;
    throw failed(String(error.context.detail ?? detailOf(error)).replace(`destinations: ${name}: `, ""), error);
  }
};
