// Reads new lines from the files of the audit trail, after a position, for load-trail.ts and `duckmirror audit`.
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { detailOf } from "../../core/errors.ts";
import { openOwn } from "../../core/files/own-files.ts";
import { type AuditLine, readLines } from "./audit-line.ts";
import { dayOf, trailDir, trailFiles } from "./trail.ts";

/** Bytes read at once; a longer piece without a line end is no line. */
const CHUNK_BYTES = 4 * 1024 * 1024;
/** Time after which a piece without a line end at the end of a file is no line that is being written, ms. */
const SETTLED_MS = 2 * 86_400_000;

export interface TrailPart {
  readonly lines: readonly AuditLine[];
  readonly damaged: number;
  /** Position after the part. */
  readonly end: number;
}

const readChunk = async (handle: FileHandle, from: number, size: number): Promise<Buffer> => {
  const buffer = Buffer.alloc(Math.min(CHUNK_BYTES, size - from));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, from);
  return buffer.subarray(0, bytesRead);
};

/**
 * Parts of a file from a position to its last complete line. `settled`: nobody writes to the file any more, so its
 * last piece counts even without a line end. Throws the error of the file system.
 */
export async function* readParts(path: string, from: number, settled: boolean): AsyncGenerator<TrailPart, void> {
  const handle = await openOwn(path);
  try {
    const { size } = await handle.stat();
    // A file that became shorter is another file.
    for (let at = from > size ? 0 : from; at < size; ) {
      const chunk = await readChunk(handle, at, size);
      const complete = chunk.lastIndexOf("\n") + 1;
      const end = complete === 0 && (settled || chunk.length === CHUNK_BYTES) ? chunk.length : complete;
      // Only a piece of a line that is being written; it is read next time.
      if (end === 0) return;
      at += end;
      yield { ...readLines(chunk.subarray(0, end).toString("utf8")), end: at };
    }
  } finally {
    await handle.close();
  }
}

export const isSettled = (name: string, now: number): boolean => now - (dayOf(name) ?? now) > SETTLED_MS;

export interface ReadTrail {
  readonly lines: readonly AuditLine[];
  readonly damaged: number;
  /** Why files could not be read. */
  readonly problems: readonly string[];
}

const DAY_MS = 86_400_000;

/** Every line of the days from `since` on; ms since the epoch. Needs no warehouse. */
export const readTrail = async (dataDir: string, since: number, now: number): Promise<ReadTrail> => {
  const dir = trailDir(dataDir);
  const lines: AuditLine[] = [];
  const problems: string[] = [];
  let damaged = 0;
  const files = await trailFiles(dir).catch((error: unknown): readonly string[] => {
    problems.push(`${dir}: ${detailOf(error)}`);
    return [];
  });
  for (const name of files) {
    if ((dayOf(name) ?? 0) + DAY_MS <= since) continue;
    try {
      for await (const part of readParts(join(dir, name), 0, isSettled(name, now))) {
        lines.push(...part.lines);
        damaged += part.damaged;
      }
    } catch (error) {
      problems.push(`${name}: ${detailOf(error)}`);
    }
  }
  return { lines, damaged, problems };
};
