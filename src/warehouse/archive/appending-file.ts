// A file that only grows. Records that arrive during a write are written together by the next one, which saves system
// calls.
import type { FileHandle } from "node:fs/promises";
import { statementError } from "../duckdb/duck-errors.ts";
import { createQueue } from "../duckdb/gate.ts";

export interface AppendingFile {
  /** Resolves once the record is written: it then survives a crash of the process, but perhaps not of the machine. */
  append(record: Buffer): Promise<void>;
  /** Makes everything appended so far durable. Throws DISK_FULL, and once it has failed, the same again. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Calls `openFile` for the first record, and again after a failed write. Throws DISK_FULL. */
export const appendingFile = (openFile: () => Promise<FileHandle>): AppendingFile => {
  const inOrder = createQueue();
  let handle: FileHandle | null = null;
  let gathered: Buffer[] = [];
  let nextWrite: Promise<void> | null = null;
  let unsynced = false;
  /** Why a flush failed: the system may have dropped what it could not write, and would not say so again. */
  let failure: { readonly error: unknown } | null = null;

  const sync = async () => {
    if (failure !== null) throw failure.error;
    if (!unsynced) return;
    try {
      await handle?.datasync();
    } catch (error) {
      failure = { error: statementError(error) };
      throw failure.error;
    }
    unsynced = false;
  };
  const close = async () => {
    const open = handle;
    handle = null;
    await open?.close();
  };
  const write = async () => {
    const records = gathered;
    gathered = [];
    nextWrite = null;
    try {
      handle ??= await openFile();
      const [only] = records;
      await handle.appendFile(records.length === 1 && only !== undefined ? only : Buffer.concat(records));
      unsynced = true;
    } catch (error) {
      // The failed write may have left half a record at the end, so the next record goes to a new file.
      await sync().catch(() => undefined);
      await close().catch(() => undefined);
      throw statementError(error);
    }
  };

  return {
    append: (record) => {
      gathered.push(record);
      nextWrite ??= inOrder(write);
      return nextWrite;
    },
    flush: () => inOrder(sync),
    close: () => inOrder(close),
  };
};
