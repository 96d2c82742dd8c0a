// Reads the archive as a stream: run by run, response by response, with one body at most in memory. Skips a record
// that a crash cut off at the end of a file.
import { join } from "node:path";
import { createInterface } from "node:readline";
import { constants, createGunzip } from "node:zlib";
import { z } from "zod";
import { listOwn, listOwnIfThere, streamOwn } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { type Archive, type ArchiveHeader, INTENTS, type IntentRecord, openArchive, RESPONSES } from "./archive.ts";

// The archive as a run uses it: opens it for appending and reads it back after a crash. On disk here; simulations
// have their own.

export interface ArchiveStore {
  /** Opens the archive of a run for appending. `now`: ms since the epoch. */
  open(run: { readonly runId: string; readonly now: number }): Archive;
  /** Responses that a run archived, in order. */
  responses(runId: string): AsyncIterable<ArchivedResponse>;
  /** Requests that a run was about to send, in order. */
  intents(runId: string): Promise<readonly IntentRecord[]>;
}

/** The archive in a directory on disk. */
export const archiveStore = (dir: string): ArchiveStore => ({
  open: (run) => openArchive({ dir, ...run }),
  responses: (runId) => readArchive(dir, runId),
  intents: (runId) => readIntents(dir, runId),
});

const intentSchema = z.object({
  requestId: z.string(),
  runId: z.string(),
  stream: z.string(),
  scope: z.string(),
  url: z.string(),
  sentAt: z.number(),
});
const headerSchema = intentSchema.extend({
  walkId: z.string().nullable(),
  endpoint: z.string(),
  detail: z.json(),
  receivedAt: z.number(),
  status: z.number(),
  bytes: z.number(),
});

export interface ArchivedResponse {
  readonly header: ArchiveHeader;
  /** The decoded body, as received. */
  readonly body: Buffer;
}

/**
 * Every file in the months' folders, month by month. Throws the system's error: paid answers that are unseen would be paid again, and
 * without its journal an old copy of the working file looks new.
 */
export const monthFiles = async (dir: string) => {
  const months = (await listOwnIfThere(dir)).filter((name) => /^\d{4}-\d{2}$/.test(name)).sort();
  const files = await Promise.all(
    months.map(async (month) =>
      (await listOwn(join(dir, month))).map((name) => ({ month, name, path: join(dir, month, name) })),
    ),
  );
  return files.flat();
};

/** Run id in a file name, and the number of this file among the run's files. */
const partOf = (name: string, suffix: string) => {
  const [, runId = "", part = "1"] = /^(.*?)(?:\.(\d+))?$/.exec(name.slice(0, -suffix.length)) ?? [];
  return { runId, part: Number(part) };
};

export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Files of the archive, month by month. Run ids sort by time, so this is also the order of the runs. Throws as `monthFiles`. */
export const archiveFiles = async (dir: string, suffix: string, wanted?: string): Promise<readonly string[]> =>
  (await monthFiles(dir))
    .filter(({ name }) => name.endsWith(suffix))
    .map((file) => ({ ...file, ...partOf(file.name, suffix) }))
    .filter(({ runId }) => wanted === undefined || runId === wanted)
    .sort((a, b) => byText(a.month, b.month) || byText(a.runId, b.runId) || a.part - b.part)
    .map(({ path }) => path);

/** Bytes read and decoded at a time. Each piece costs one round trip to another thread. */
const PIECE = 256 * 1024;

/** Decoded bytes of a gzipped file, up to the first damage. Calls `onTorn` for a cut-off end instead of throwing. */
export async function* decodedChunks(file: string, onTorn: () => void = () => undefined): AsyncIterable<Buffer> {
  const source = await streamOwn(file, { highWaterMark: PIECE });
  const gunzip = createGunzip({ chunkSize: PIECE, finishFlush: constants.Z_SYNC_FLUSH });
  source.on("error", (error) => gunzip.destroy(error));
  try {
    for await (const chunk of source.pipe(gunzip)) if (Buffer.isBuffer(chunk)) yield chunk;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && String(error.code).startsWith("Z_"))) throw error;
    onTorn();
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

/** Responses of one file. The header line gives the length of the body. */
export async function* records(file: string, onTorn: () => void = () => undefined): AsyncIterable<ArchivedResponse> {
  let chunks: Buffer[] = [];
  let held = 0;
  let header: ArchiveHeader | null = null;
  const take = (bytes: number): Buffer => {
    const all = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    chunks = [all.subarray(bytes)];
    held -= bytes;
    return all.subarray(0, bytes);
  };
  for await (const chunk of decodedChunks(file, onTorn)) {
    chunks.push(chunk);
    held += chunk.length;
    for (;;) {
      if (header === null) {
        // Only the newest chunk can contain a line end; the others were searched already.
        if (chunks.length > 1 && !chunk.includes(10)) break;
        const all = Buffer.concat(chunks);
        chunks = [all];
        const end = all.indexOf(10);
        if (end < 0) break;
        const parsed = headerSchema.safeParse(jsonOrNull(take(end + 1).toString("utf8")));
        // The line end after a body appears as an empty line here. Skip it, and any other line that is no header.
        if (parsed.success) header = parsed.data;
      } else {
        if (held < header.bytes) break;
        const body = take(header.bytes);
        yield { header, body };
        header = null;
      }
    }
  }
  if (held > 0 || header !== null) onTorn();
}

/** Archived responses, of one run or all, oldest month first, in the order they were appended. */
export async function* readArchive(dir: string, runId?: string): AsyncIterable<ArchivedResponse> {
  for (const file of await archiveFiles(dir, RESPONSES, runId)) yield* records(file);
}

/** Requests that a run was about to send, in order. Skips a last line that was cut off. */
export const readIntents = async (dir: string, runId: string): Promise<readonly IntentRecord[]> => {
  const intents: IntentRecord[] = [];
  for (const file of await archiveFiles(dir, INTENTS, runId)) {
    for await (const line of createInterface({ input: await streamOwn(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      const intent = intentSchema.safeParse(jsonOrNull(line));
      if (intent.success) intents.push(intent.data);
    }
  }
  return intents;
};
