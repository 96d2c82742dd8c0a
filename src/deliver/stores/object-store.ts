// Port of what holds a set of files: a folder, or object storage. Keys are relative, with forward slashes.
import { DuckmirrorError } from "../../core/errors.ts";

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
