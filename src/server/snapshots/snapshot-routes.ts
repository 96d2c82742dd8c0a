// The published snapshot as a file: GET and HEAD /warehouse.duckdb, /snapshots and /snapshots/{n}/warehouse.duckdb. DuckDB
// attaches such an address and fetches the blocks that a query needs (docs/REMOTE.md).
import type { FileHandle } from "node:fs/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { momentBefore } from "../../core/time.ts";
import { type KeptSnapshot, keptSnapshots } from "../../warehouse/read/kept-snapshots.ts";
import { notesOf } from "../audit-trail/request-notes.ts";
import type { ServerContext } from "../http/server-context.ts";
import { openIfThere, openKept, sendFile } from "./send-file.ts";

const querySchema = z.object({ profile: z.string().optional(), at: z.string().optional() });
const paramsSchema = z.object({ n: z.coerce.number().int().positive().catch(0) });

const MINUTE_MS = 60_000;
/** Readers whose bytes are counted; the one that came first is forgotten first. */
const MOST_READERS = 10_000;

/** Bytes that each reader got in its present minute. `most` null: no limit. */
const createAllowance = (most: number | null) => {
  const minutes = new Map<string, { readonly since: number; readonly bytes: number }>();
  return {
    /** ms until the reader may ask again; 0: now. */
    waitMs: (reader: string, now: number): number => {
      const minute = minutes.get(reader);
      if (most === null || minute === undefined || minute.bytes < most) return 0;
      return Math.max(0, minute.since + MINUTE_MS - now);
    },
    add: (reader: string, bytes: number, now: number): void => {
      const known = minutes.get(reader);
      const isNew = known === undefined || now - known.since >= MINUTE_MS;
      minutes.delete(reader);
      minutes.set(reader, isNew ? { since: now, bytes } : { ...known, bytes: known.bytes + bytes });
      const [oldest] = minutes.keys();
      if (minutes.size > MOST_READERS && oldest !== undefined) minutes.delete(oldest);
    },
  };
};

export const snapshotRoutes = (app: FastifyInstance, context: ServerContext): void => {
  const allowance = createAllowance(context.snapshotBytesPerMinute ?? null);

  const send = async (request: FastifyRequest, reply: FastifyReply, file: FileHandle) => {
    const { access } = notesOf(request);
    const reader = `${access?.by === "open" ? "" : access?.holder.name} ${request.ip}`;
    const waitMs = allowance.waitMs(reader, context.clock.now());
    if (waitMs > 0) {
      await file.close();
      reply.header("retry-after", String(Math.ceil(waitMs / 1000)));
      throw new DuckmirrorError("TOO_MANY_BYTES");
    }
    allowance.add(reader, await sendFile(request, reply, file), context.clock.now());
    return reply;
  };

  const pathOf = (request: FastifyRequest): string =>
    context.mirror(querySchema.parse(request.query).profile).snapshots.path;

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
    return {
      data: kept.map(({ n, at, position, bytes, complete }) => ({
        n,
        at: new Date(at).toISOString(),
        position,
        bytes,
        complete,
      })),
    };
  });
};
