// Every body that cost a credit, as it was received, with its request: appended before it is loaded.
// One file per run, `<YYYY-MM>/<runId>.ndjson.gz`: three gzip members per response (header line, body, line end), so
// that `zcat` prints it. Beside it `<runId>.intents.ndjson`: one line before each request is sent.
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, gzip } from "node:zlib";
import type { JsonValue } from "../core/json.ts";
import { statementError } from "./duck-errors.ts";
import { createQueue } from "./gate.ts";
import { jsonText } from "./json-text.ts";

const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const brotliAsync = promisify(brotliDecompress);

/** A request about to be sent. Holds no token: `url` is path and query. */
export interface IntentRecord {
  readonly requestId: string;
  readonly runId: string;
  readonly stream: string;
  readonly scope: string;
  readonly url: string;
  /** ms since the epoch. */
  readonly sentAt: number;
}

/** What stands before a body in the archive. */
export interface ArchiveHeader extends IntentRecord {
  readonly walkId: string | null;
  /** Name or template of the endpoint. */
  readonly endpoint: string;
  /** What sync needs to take the response up again. */
  readonly detail: JsonValue;
  /** ms since the epoch. */
  readonly receivedAt: number;
  readonly status: number;
  /** Bytes of the decoded body: how far the reader reads. */
  readonly bytes: number;
}

/** A body as it came over the wire. */
export interface Wire {
  readonly bytes: Buffer;
  readonly encoding: "identity" | "gzip" | "br";
}

export interface Archive {
  /** Written before the request leaves, so that a crash shows which answers may have been charged. */
  intent(record: IntentRecord): Promise<void>;
  /** Appends a response. It is durable after `flush`. */
  response(header: ArchiveHeader, wire: Wire): Promise<void>;
  /** Makes every response appended so far durable. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Ends of the two kinds of files. */
export const RESPONSES = ".ndjson.gz";
export const INTENTS = ".intents.ndjson";

const lineEnd = gzipAsync("\n");
/** Folder of a moment, ms since the epoch: `2026-03`. */
export const month = (ms: number): string => new Date(ms).toISOString().slice(0, 7);
const SAFE_RUN_ID = /^[\w.-]{1,120}$/;

/** True when the bytes end as one gzip member of `bytes` decoded bytes does: its length stands last. */
const isOneMember = (body: Buffer, bytes: number): boolean =>
  body.length >= 18 && body[0] === 0x1f && body[1] === 0x8b && body.readUInt32LE(body.length - 4) === bytes % 2 ** 32;

/** The body gzipped, verbatim where it came that way, and its decoded length. */
const asGzip = async ({ bytes, encoding }: Wire, decodedBytes: number): Promise<{ member: Buffer; bytes: number }> => {
  if (encoding === "gzip" && isOneMember(bytes, decodedBytes)) return { member: bytes, bytes: decodedBytes };
  // Several members, or bytes that are not what they claim to be: kept as far as they can be decoded, else as they are.
  const decoded =
    encoding === "identity"
      ? bytes
      : await (encoding === "gzip" ? gunzipAsync(bytes) : brotliAsync(bytes)).catch(() => bytes);
  return { member: await gzipAsync(decoded), bytes: decoded.length };
};

/** A response as it stands in the archive: header line, body, line end. */
export const responseRecord = async (header: ArchiveHeader, wire: Wire): Promise<Buffer> => {
  const { member, bytes } = await asGzip(wire, header.bytes);
  const line = await gzipAsync(`${jsonText({ ...header, bytes }).text}\n`);
  return Buffer.concat([line, member, await lineEnd]);
};

/** Opens a file that is not there yet: what an earlier process left under the name may end in the middle of a record. */
export const openNew = async (folder: string, stem: string, suffix: string): Promise<FileHandle> => {
  for (let part = 1; ; part++) {
    const name = part === 1 ? `${stem}${suffix}` : `${stem}.${part}${suffix}`;
    try {
      return await open(join(folder, name), "ax", 0o600);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
};

/**
 * Opens the archive of a run for appending; files appear with the first record. `now`: ms since the epoch, names the
 * month. A run that goes on in another process writes on in `<runId>.2.ndjson.gz`. Throws DISK_FULL.
 */
export const openArchive = (options: {
  readonly dir: string;
  readonly runId: string;
  readonly now: number;
}): Archive => {
  const { dir, runId, now } = options;
  if (!SAFE_RUN_ID.test(runId)) throw new TypeError(`not a file name: ${runId}`);
  const inOrder = createQueue();
  const handles = new Map<string, FileHandle>();
  let unsynced = false;

  const handleOf = async (suffix: string): Promise<FileHandle> => {
    const known = handles.get(suffix);
    if (known !== undefined) return known;
    const folder = join(dir, month(now));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const handle = await openNew(folder, runId, suffix);
    handles.set(suffix, handle);
    return handle;
  };
  const append = (suffix: string, bytes: Buffer): Promise<void> =>
    inOrder(async () => {
      try {
        await (await handleOf(suffix)).appendFile(bytes);
      } catch (error) {
        // Half a record may stand at the end now: what follows goes to a file of its own.
        await handles.get(suffix)?.close();
        handles.delete(suffix);
        throw statementError(error);
      }
    });

  return {
    intent: (record) => append(INTENTS, Buffer.from(`${jsonText({ ...record }).text}\n`)),
    response: async (header, wire) => {
      await append(RESPONSES, await responseRecord(header, wire));
      unsynced = true;
    },
    flush: () =>
      inOrder(async () => {
        if (!unsynced) return;
        unsynced = false;
        await handles.get(RESPONSES)?.datasync();
      }),
    close: () =>
      inOrder(async () => {
        for (const handle of handles.values()) await handle.close();
        handles.clear();
      }),
  };
};
