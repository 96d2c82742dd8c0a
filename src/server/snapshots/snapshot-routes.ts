// Serves the published snapshots as files, which DuckDB can attach by address and read block by block (docs/REMOTE.md): GET and HEAD
// /warehouse.duckdb (`?at=` chooses a kept one) and /snapshots/{n}/warehouse.duckdb, within a limit of bytes a minute; and their list,
// /snapshots, as JSON.
import type { FileHandle } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { DuckmirrorError, hasSystemCode } from "../../core/errors.ts";
import { openOwn } from "../../core/files/own-files.ts";
import { isoTime, momentBefore } from "../../core/time.ts";
import { type KeptSnapshot, keptSnapshots } from "../../warehouse/read/kept-snapshots.ts";
import { createMinuteSums } from "../access/connection-limits.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../http/server-context.ts";

// Answers a request for a file by its conditions and its range (RFC 9110, sections 13 and 14). PURE.

/** The headers of a request that decide. */
export interface Asked {
  readonly "if-match"?: string | undefined;
  readonly "if-none-match"?: string | undefined;
  readonly "if-range"?: string | undefined;
  readonly range?: string | undefined;
}

export type FileAnswer =
  /** The bytes from `start` to before `end`; `status` 206: they are a part. */
  { readonly status: 200 | 206; readonly start: number; readonly end: number } | { readonly status: 304 | 412 | 416 };

/** Whether a list of tags names a strong tag. */
const names = (header: string, etag: string): boolean =>
  header.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");

/** The range of a header: `null`: answer with the whole file; `unsatisfiable`: the file has no such bytes. */
const rangeOf = (header: string, size: number) => {
  const [, first = "", last = ""] = /^bytes=(\d*)-(\d*)$/.exec(header.trim()) ?? [];
  // Several ranges, other units and nonsense may be ignored (section 14.2).
  if ((first === "" && last === "") || (first !== "" && last !== "" && Number(last) < Number(first))) return null;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : "unsatisfiable";
};

/** The answer for a file of `size` bytes whose strong tag is `etag`. HEAD takes no range. */
export const fileAnswer = (
  method: string,
  asked: Asked,
  { etag, size }: { readonly etag: string; readonly size: number },
): FileAnswer => {
  const { "if-match": match, "if-none-match": noneMatch, "if-range": ifRange, range } = asked;
  if (match !== undefined && !names(match, etag)) return { status: 412 };
  if (noneMatch !== undefined && names(noneMatch.replaceAll("W/", ""), etag)) return { status: 304 };
  const whole = { status: 200, start: 0, end: size } as const;
  // A date as If-Range is no proof, because two snapshots can have the same second.
  if (method === "HEAD" || range === undefined || (ifRange !== undefined && ifRange.trim() !== etag)) return whole;
  const part = rangeOf(range, size);
  if (part === null) return whole;
  return part === "unsatisfiable" ? { status: 416 } : { status: 206, ...part };
};

const gone = (what: string, kept: readonly KeptSnapshot[]): DuckmirrorError => {
  const [oldest] = kept.slice(-1);
  const found = oldest === undefined ? "none is kept" : `the oldest is ${oldest.n}, of ${isoTime(oldest.at)}`;
  return new DuckmirrorError("SNAPSHOT_GONE", { what, kept: found });
};

/** Opens a file; null: it was removed meanwhile. */
export const openIfThere = (path: string): Promise<FileHandle | null> =>
  openOwn(path).catch((error: unknown) => {
    if (hasSystemCode(error, "ENOENT")) return null;
    throw error;
  });

/** Sends the open file, or its part that was asked for; closes it. Returns the number of bytes sent. */
export const sendFile = async (request: FastifyRequest, reply: FastifyReply, file: FileHandle): Promise<number> => {
  const { ino, mtimeNs, mtime, size: bytes } = await file.stat({ bigint: true });
  const size = Number(bytes);
  const etag = `"${[ino, mtimeNs, bytes].map((part) => part.toString(36)).join("-")}"`;
  const asked: Asked = request.headers;
  const answer = fileAnswer(request.method, asked, { etag, size });
  reply.code(answer.status).headers({
    etag,
    "last-modified": mtime.toUTCString(),
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
    "content-type": "application/vnd.duckdb",
  });
  if (answer.status === 416) reply.header("content-range", `bytes */${size}`);
  if (!("end" in answer)) {
    await file.close();
    reply.send();
    return 0;
  }
  const { status, start, end } = answer;
  reply.header("content-length", end - start);
  if (status === 206) reply.header("content-range", `bytes ${start}-${end - 1}/${size}`);
  if (request.method === "HEAD" || end === start) {
    await file.close();
    reply.send();
    return 0;
  }
  // The stream reads the file that was opened, whatever is published meanwhile, and closes it.
  reply.send(file.createReadStream({ start, end: end - 1 }));
  return end - start;
};

/** Opens the snapshot that `find` chooses; another one if that was removed in between. */
export const openKept = async (
  snapshot: string,
  what: string,
  find: (kept: readonly KeptSnapshot[]) => KeptSnapshot | undefined,
): Promise<FileHandle> => {
  for (;;) {
    const kept = await keptSnapshots(snapshot);
    const found = find(kept);
    if (found === undefined) throw gone(what, kept);
    const file = await openIfThere(found.path);
    if (file === null) continue;
    // A publish may have replaced the present file since it was chosen; then that snapshot has a name of its own, or is gone.
    const { ino, mtimeNs } = await file.stat({ bigint: true });
    if (found.path !== snapshot || found.file === `${ino}-${mtimeNs}`) return file;
    await file.close();
  }
};

const querySchema = z.object({ at: z.string().optional() });
const paramsSchema = z.object({ n: z.coerce.number().int().positive().catch(0) });

export const snapshotRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const most = context.snapshotBytesPerMinute ?? Number.POSITIVE_INFINITY;
  const bytesSent = createMinuteSums();

  const send = async (request: FastifyRequest, reply: FastifyReply, file: FileHandle) => {
    const { access } = notesOf(request);
    const reader = `${access?.by === "open" ? "" : access?.holder.name} ${request.ip}`;
    const waitMs = bytesSent.waitMs(reader, most, context.clock.now());
    if (waitMs > 0) {
      await file.close();
      reply.header("retry-after", String(Math.ceil(waitMs / 1000)));
      throw new DuckmirrorError("TOO_MANY_BYTES");
    }
    bytesSent.add(reader, await sendFile(request, reply, file), context.clock.now());
    return reply;
  };

  const pathOf = (request: FastifyRequest): string => context.mirrorOf(request).snapshots.path;

  app.route({
    method: ["GET", "HEAD"],
    url: "/warehouse.duckdb",
    handler: async (request, reply) => {
      const { at } = querySchema.parse(request.query);
      const snapshot = pathOf(request);
      if (at === undefined) {
        const file = await openIfThere(snapshot);
        if (file === null) throw new DuckmirrorError("SNAPSHOT_MISSING", { file: snapshot });
        return send(request, reply, file);
      }
      const moment = momentBefore("at", at, context.clock.now());
      const find = (kept: readonly KeptSnapshot[]) => kept.find((one) => one.at <= moment);
      return send(request, reply, await openKept(snapshot, "snapshot of that time any more", find));
    },
  });

  app.route({
    method: ["GET", "HEAD"],
    url: "/snapshots/:n/warehouse.duckdb",
    handler: async (request, reply) => {
      const { n } = paramsSchema.parse(request.params);
      const find = (kept: readonly KeptSnapshot[]) => kept.find((one) => one.n === n);
      return send(request, reply, await openKept(pathOf(request), "such snapshot", find));
    },
  });

  app.get("/snapshots", async (request) => {
    const kept = await keptSnapshots(pathOf(request));
    const data = kept.map(({ n, at, position, bytes, complete }) => ({
      n,
      at: isoTime(at),
      position,
      bytes,
      complete,
    }));
    return { data };
  });
};
