// A file that is only ever appended to: records handed over while a write is under way go out together with the next
// one, so that many small records cost few calls of the system.
import type { FileHandle } from "node:fs/promises";
import { statementError } from "../duckdb/duck-errors.ts";
import { createQueue } from "../duckdb/gate.ts";

export interface AppendingFile {
  /** Resolves when the record is written; a crash of the process does not lose it then, one of the machine may. */
  append(record: Buffer): Promise<void>;
  /** Makes everything appended so far durable. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** `openFile` is asked for a new file with the first record, and again after a write failed. Throws DISK_FULL. */
export const appendingFile = (openFile: () => Promise<FileHandle>): AppendingFile => {
  const inOrder = createQueue();
  let handle: FileHandle | null = null;
  let gathered: Buffer[] = [];
  let nextWrite: Promise<void> | null = null;
  let unsynced = false;

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
      // Half a record may stand at the end now: what follows goes to a file of its own.
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
    flush: () =>
      inOrder(async () => {
        if (!unsynced) return;
        unsynced = false;
        await handle?.datasync();
      }),
    close: () => inOrder(close),
  };
};
