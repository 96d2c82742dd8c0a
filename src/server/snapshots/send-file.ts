// Opens a published snapshot as a file, and sends it or its part.
import type { FileHandle } from "node:fs/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import { DuckmirrorError, hasSystemCode } from "../../core/errors.ts";
import { openOwn } from "../../core/files/own-files.ts";
import { isoTime } from "../../core/time.ts";
import { type KeptSnapshot, keptSnapshots } from "../../warehouse/read/kept-snapshots.ts";
import { type Asked, fileAnswer } from "./file-answer.ts";

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
