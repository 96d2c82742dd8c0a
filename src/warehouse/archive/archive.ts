// The archive: every response body that cost a credit, as received, with its request. A body is appended before it is
// loaded.
// Each run has one file `<YYYY-MM>/<runId>.ndjson.gz` that `zcat` prints. A response is a header line, the body, and
// a line end. A body that arrived gzipped is its own gzip member between two small ones; any other body shares one
// member with its header and line end.
// `<runId>.intents.ndjson` beside it has one line per request, written before the request is sent.
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress, crc32, gunzip, gzip, gzipSync } from "node:zlib";
import { hasSystemCode } from "../../core/errors.ts";
import { createOwn, makeOwnFolder } from "../../core/files/own-files.ts";
import { type JsonValue, jsonText } from "../../core/json.ts";
import { statementError } from "../duckdb/duck-errors.ts";
import { createQueue } from "../duckdb/gate.ts";

// A file that only grows. Records that arrive during a write are written together by the next one, which saves system
// calls.

interface AppendingFile {
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

/** The line before a body in the archive. */
export interface ArchiveHeader extends IntentRecord {
  readonly walkId: string | null;
  /** Name or template of the endpoint. */
  readonly endpoint: string;
  /** Values that sync needs to load the response later. */
  readonly detail: JsonValue;
  /** ms since the epoch. */
  readonly receivedAt: number;
  readonly status: number;
  /** Length of the decoded body in bytes; the reader reads this many. */
  readonly bytes: number;
}

/** A body as received over the network. */
export interface Wire {
  readonly bytes: Buffer;
  readonly encoding: "identity" | "gzip" | "br";
}

export interface Archive {
  /** Noted before the request is sent, so that after a crash the requests that may have been charged are known. */
  intent(record: IntentRecord): Promise<void>;
  /** Appends a response. It is durable after `flush`. */
  response(header: ArchiveHeader, wire: Wire): Promise<void>;
  /** Makes every response appended so far durable. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** File name endings of the two kinds of files. */
export const RESPONSES = ".ndjson.gz";
export const INTENTS = ".intents.ndjson";

/** Takes half the time of zlib's default; files grow by a sixth at most. */
const LEVEL = 3;
/** Up to this size, compressing here is faster than passing the work to another thread. */
const MOST_AT_ONCE = 16 * 1024;
/** Size of zlib's output pieces. Each piece costs one round trip to another thread. */
const PIECE = 256 * 1024;

const LINE_END = Buffer.from("\n");
const MOST_STORED = 0xffff;

const compressed = async (parts: readonly Buffer[]): Promise<Buffer> => {
  const whole = Buffer.concat(parts);
  if (whole.length <= MOST_AT_ONCE) return gzipSync(whole, { level: LEVEL });
  return gzipAsync(whole, { level: LEVEL, chunkSize: PIECE });
};

/** A gzip member with uncompressed content, for bytes too short to be worth compressing. */
const stored = async (bytes: Buffer): Promise<Buffer> => {
  if (bytes.length > MOST_STORED) return compressed([bytes]);
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0, 0, 0]);
  head.writeUInt16LE(bytes.length, 11);
  head.writeUInt16LE(bytes.length ^ 0xffff, 13);
  const end = Buffer.alloc(8);
  end.writeUInt32LE(crc32(bytes), 0);
  end.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([head, bytes, end]);
};

/** Folder of a time in ms since the epoch, e.g. `2026-03`. */
export const month = (ms: number): string => new Date(ms).toISOString().slice(0, 7);
const SAFE_RUN_ID = /^[\w.-]{1,120}$/;

/** True when the bytes end like one gzip member of `bytes` decoded bytes: a member ends with its decoded length. */
const isOneMember = (body: Buffer, bytes: number): boolean =>
  body.length >= 18 && body[0] === 0x1f && body[1] === 0x8b && body.readUInt32LE(body.length - 4) === bytes % 2 ** 32;

/** The body as received if it is one gzip member, else decoded. */
const bodyOf = async (
  { bytes, encoding }: Wire,
  decodedBytes: number,
): Promise<{ body: Buffer; isMember: boolean }> => {
  if (encoding === "identity") return { body: bytes, isMember: false };
  if (encoding === "gzip" && isOneMember(bytes, decodedBytes)) return { body: bytes, isMember: true };
  // Several members, or a wrong content encoding: keep the decoded body, or the raw bytes if decoding fails.
  const body = await (encoding === "gzip" ? gunzipAsync(bytes) : brotliAsync(bytes)).catch(() => bytes);
  return { body, isMember: false };
};

/** A response in the archive's format: header line, body, line end. */
export const responseRecord = async (header: ArchiveHeader, wire: Wire): Promise<Buffer> => {
  const { body, isMember } = await bodyOf(wire, header.bytes);
  const bytes = isMember ? header.bytes : body.length;
  const line = Buffer.from(`${jsonText({ ...header, bytes }).text}\n`);
  if (!isMember) return compressed([line, body, LINE_END]);
  return Buffer.concat([await stored(line), body, await stored(LINE_END)]);
};

/** Opens a file that does not exist yet. A file that an earlier process left may end in the middle of a record. */
export const openNew = async (folder: string, stem: string, suffix: string): Promise<FileHandle> => {
  for (let part = 1; ; part++) {
    const name = part === 1 ? `${stem}${suffix}` : `${stem}.${part}${suffix}`;
    try {
      return await createOwn(join(folder, name));
    } catch (error) {
      if (!hasSystemCode(error, "EEXIST")) throw error;
    }
  }
};

/**
 * Opens the archive of a run for appending; the first record creates the file. `now` (ms since the epoch) names the
 * month's folder. A run that continues in another process writes `<runId>.2.ndjson.gz`. Throws DISK_FULL.
 */
export const openArchive = (options: {
  readonly dir: string;
  readonly runId: string;
  readonly now: number;
}): Archive => {
  const { dir, runId, now } = options;
  if (!SAFE_RUN_ID.test(runId)) throw new TypeError(`not a file name: ${runId}`);
  const fileOf = (suffix: string) =>
    appendingFile(async () => {
      const folder = join(dir, month(now));
      makeOwnFolder(folder);
      return openNew(folder, runId, suffix);
    });
  const intents = fileOf(INTENTS);
  const responses = fileOf(RESPONSES);

  return {
    intent: (record) => intents.append(Buffer.from(`${jsonText({ ...record }).text}\n`)),
    response: async (header, wire) => responses.append(await responseRecord(header, wire)),
    flush: responses.flush,
    close: async () => {
      await intents.close();
      await responses.close();
    },
  };
};
