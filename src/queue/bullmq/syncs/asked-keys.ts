// Idempotency keys: one Redis key for each, with its sync, for a day.
import { z } from "zod";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { SyncAsk } from "../../../core/report/triggers.ts";
import { askDigest, KEY_LASTS_S, keyDigest } from "../../asking/asks.ts";
import { keyOf } from "../../redis/queues.ts";
import type { RedisCommand } from "../../redis/together.ts";

const remembered = z.string().transform((text) => {
  const [runId = "", digest = ""] = text.split(" ");
  return { runId, digest };
});

const keyFor = (profile: string, idempotencyKey: string) => keyOf("asked", profile, keyDigest(idempotencyKey));

/** Reads the key of a request, for `askedBefore`; none: it has no key. */
export const readingKey = (profile: string, { idempotencyKey }: SyncAsk): readonly RedisCommand[] =>
  idempotencyKey === null ? [] : [["get", keyFor(profile, idempotencyKey)]];

/**
 * The sync that an earlier request with this key started; null: none. `found`: result of `readingKey`. Throws
 * IDEMPOTENCY_REUSED.
 */
export const askedBefore = (found: unknown, ask: SyncAsk): string | null => {
  if (found === null || found === undefined) return null;
  const { runId, digest } = remembered.parse(found);
  if (digest !== askDigest(ask)) throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: runId });
  return runId;
};

/** Stores the sync of a request under its key; none: it has no key. */
export const rememberingAsk = (profile: string, ask: SyncAsk, runId: string): readonly RedisCommand[] =>
  ask.idempotencyKey === null
    ? []
    : [["set", keyFor(profile, ask.idempotencyKey), `${runId} ${askDigest(ask)}`, "EX", KEY_LASTS_S]];
