// Idempotency keys of requests for syncs. Redis keeps each for a day, with the sync that it started. This file makes the Redis
// commands; start-sync.ts sends them.
import { z } from "zod";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { SyncAsk } from "../../../core/report/triggers.ts";
import { runIdSchema } from "../../../core/text/run-id.ts";
import { askDigest, KEY_LASTS_S, keyDigest } from "../../asking/asks.ts";
import { keyOf } from "../../redis/queues.ts";
import type { RedisCommand } from "../../redis/together.ts";

const remembered = z.string().transform((text) => {
  const [runId = "", digest = ""] = text.split(" ");
  return { runId: runIdSchema.safeParse(runId).data ?? null, digest };
});

const keyFor = (profile: string, idempotencyKey: string) => keyOf("asked", profile, keyDigest(idempotencyKey));

/** Commands that read the idempotency key of a request, for `askedBefore`; empty: the request has no key. */
export const keyReads = (profile: string, { idempotencyKey }: SyncAsk): readonly RedisCommand[] =>
  idempotencyKey === null ? [] : [["get", keyFor(profile, idempotencyKey)]];

/**
 * The sync that an earlier request with this key started; null: none. `found`: result of `keyReads`. Throws
 * IDEMPOTENCY_REUSED.
 */
export const askedBefore = (found: unknown, ask: SyncAsk): string | null => {
  if (found === null || found === undefined) return null;
  const { runId, digest } = remembered.parse(found);
  if (runId === null) return null;
  if (digest !== askDigest(ask)) throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: runId });
  return runId;
};

/** Commands that store the sync of a request under its key; empty: the request has no key. */
export const keyWrites = (profile: string, ask: SyncAsk, runId: string): readonly RedisCommand[] =>
  ask.idempotencyKey === null
    ? []
    : [["set", keyFor(profile, ask.idempotencyKey), `${runId} ${askDigest(ask)}`, "EX", KEY_LASTS_S]];
