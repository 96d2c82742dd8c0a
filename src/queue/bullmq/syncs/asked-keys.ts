// Idempotency keys: one Redis key for each, with its sync, for a day.
import type { Redis } from "ioredis";
import { z } from "zod";
import { DuckmirrorError } from "../../../core/errors.ts";
import { askDigest, KEY_LASTS_S, keyDigest, type SyncAsk } from "../../asks.ts";
import { keyOf } from "../queues.ts";

const remembered = z.string().transform((text) => {
  const [runId = "", digest = ""] = text.split(" ");
  return { runId, digest };
});

const keyFor = (profile: string, idempotencyKey: string) => keyOf("asked", profile, keyDigest(idempotencyKey));

/** The sync that an earlier request with this key started; null: none. Throws IDEMPOTENCY_REUSED. */
export const askedBefore = async (redis: Redis, profile: string, ask: SyncAsk): Promise<string | null> => {
  if (ask.idempotencyKey === null) return null;
  const text = await redis.get(keyFor(profile, ask.idempotencyKey));
  if (text === null) return null;
  const { runId, digest } = remembered.parse(text);
  if (digest !== askDigest(ask)) throw new DuckmirrorError("IDEMPOTENCY_REUSED", { run: runId });
  return runId;
};

export const rememberAsk = async (redis: Redis, profile: string, ask: SyncAsk, runId: string): Promise<void> => {
  if (ask.idempotencyKey === null) return;
  await redis.set(keyFor(profile, ask.idempotencyKey), `${runId} ${askDigest(ask)}`, "EX", KEY_LASTS_S);
};
