// Credits of the organization: what is charged, what is left, and how the service refuses when nothing is.
import { type Answer, refusal } from "./answer.ts";
import type { Fields } from "./json-text.ts";
import { unlimitedUsage } from "./strangers.ts";
import { writeTime } from "./times.ts";
import type { Traits } from "./traits.ts";

const DAY_MS = 86_400_000;

export interface Credits {
  charge(): void;
  /** Credits charged since the service began. */
  charged(): number;
  left(now: number): number;
  /** From now on so many are left in the period. */
  leave(credits: number, now: number): void;
  /** Begins a new period. */
  renew(now: number): void;
  quota(now: number): Fields;
  /** The `usage` block of an answer; null where it carries none. */
  usageBlock(now: number): Fields | null;
  refuse(now: number): Answer;
}

export const createCredits = (traits: Traits, startedAt: number): Credits => {
  const { credits } = traits;
  let limit = 1_000_000;
  let used = 0;
  let charged = 0;
  let stale: Fields | null = null;
  let resetsAt = startedAt + credits.periodDays * DAY_MS;

  const roll = (now: number): void => {
    while (now >= resetsAt) {
      resetsAt += credits.periodDays * DAY_MS;
      used = 0;
    }
  };
  const quota = (now: number): Fields => {
    roll(now);
    const unlimited = unlimitedUsage(traits.strangers);
    if (unlimited !== null) return unlimited;
    const { moment } = traits.times;
    const at = writeTime(resetsAt, moment === "date" ? "z-s" : moment);
    return { limit, used, remaining: Math.max(0, limit - used), resetsAt: at };
  };
  const waitSeconds = (now: number): number => Math.max(credits.waitSeconds, Math.ceil((resetsAt - now) / 1000));

  return {
    charge: () => {
      used += 1;
      charged += 1;
    },
    charged: () => charged,
    left: (now) => {
      roll(now);
      return limit - used;
    },
    leave: (left, now) => {
      roll(now);
      limit = used + left;
    },
    renew: (now) => {
      used = 0;
      limit = 1_000_000;
      resetsAt = now + credits.periodDays * DAY_MS;
    },
    quota,
    usageBlock: (now) => {
      if (credits.usageBlock === "missing") return null;
      const fresh = quota(now);
      // A stale block is a few answers old.
      if (credits.usageBlock === "present" || stale === null || charged % 5 === 0) stale = fresh;
      return stale;
    },
    refuse: (now) => {
      const usage = credits.usageOnRefusal ? quota(now) : null;
      const wait = { "Retry-After": String(waitSeconds(now)) };
      switch (credits.refusal) {
        case "402":
          return refusal(traits, 402, "Payment required", { usage });
        case "402-html":
          return refusal(traits, 402, "Payment required", { shape: "html" });
        case "429-usage":
          return refusal(traits, 429, "Too many requests", { shape: "flat", usage: quota(now) });
        case "429-long-wait":
          return refusal(traits, 429, "Too many requests", { headers: wait });
        case "429-words":
          return refusal(traits, 429, "Monthly credits exhausted", { shape: "nested" });
        case "429-bare":
          return refusal(traits, 429, "", { shape: "empty" });
        case "403-words":
          return refusal(traits, 403, "Your credits are used up for this month", { shape: "nested" });
        default:
          return credits.refusal satisfies never;
      }
    },
  };
};
