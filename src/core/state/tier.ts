// State file with the organization's access tier, the evidence for it, and when to test it again (API.md, "Access tiers"). It is no table,
// because `check` learns the tier also while a sync holds the mirror.
import { join } from "node:path";
import { z } from "zod";
import { changeShared, readShared, type SharedFile } from "./shared-file.ts";

const DAY_MS = 86_400_000;
/** Longest time after which the account list is asked for again without Full Access, ms. */
const PROBE_EVERY_MS = 30 * DAY_MS;
/** Lists that are empty in two runs this far apart prove that there is no Full Access, ms. */
const PROVEN_AFTER_MS = DAY_MS;

const DOUBTED = "the account list is empty, for less than a day; syncs still ask for all lists";

const knownTierSchema = z.object({
  tier: z.enum(["full", "public"]),
  /** When the tier was first seen, ms since the epoch, as below. */
  since: z.number(),
  /** The evidence for it. */
  evidence: z.string(),
  /** When it was last seen. */
  seen_at: z.number(),
  /** Full Access, but since then every list of the tier was empty. */
  doubted_at: z.number().nullable().default(null),
});
/** The organization's tier, as far as it is known. */
export type KnownTier = z.output<typeof knownTierSchema>;

/** Evidence for the tier, from a response. */
export type TierEvidence =
  | { readonly shows: "full"; readonly because: string }
  /** An empty account list; `held`: the mirror holds rows of the tier, which may also mean a fault of the service. */
  | { readonly shows: "public"; readonly because: string; readonly held: boolean };

/** The knowledge of the tier after `evidence`. */
export const tierAfter = (known: KnownTier | null, evidence: TierEvidence, now: number): KnownTier | null => {
  const fresh: KnownTier = {
    tier: evidence.shows,
    since: known?.tier === evidence.shows ? known.since : now,
    evidence: evidence.because,
    seen_at: now,
    doubted_at: null,
  };
  if (evidence.shows === "full" || !evidence.held || known?.tier === "public") return fresh;
  // The mirror holds rows, so the organization had Full Access: one empty answer is no proof that it ended.
  const full: KnownTier = known ?? { ...fresh, tier: "full", evidence: "the mirror holds its rows" };
  const doubtedAt = full.doubted_at ?? now;
  return now - doubtedAt >= PROVEN_AFTER_MS ? { ...fresh, since: doubtedAt } : { ...full, doubted_at: doubtedAt };
};

/** True when `evidence` says something new, or the known tier was last seen a day ago. */
export const isNews = (known: KnownTier | null, evidence: TierEvidence, now: number): boolean =>
  known?.tier !== evidence.shows || known.doubted_at !== null || now - known.seen_at >= DAY_MS;

/** True once two answers, a day apart, showed the tier; Full Access needs one. An account list may be empty for another reason. */
export const isProven = ({ tier, since, seen_at }: KnownTier): boolean =>
  tier === "full" || seen_at - since >= PROVEN_AFTER_MS;

/** When the account list is asked for again without Full Access: after a day, then in growing intervals. */
export const probeAt = ({ since, seen_at }: KnownTier): number =>
  seen_at + Math.min(PROBE_EVERY_MS, Math.max(PROVEN_AFTER_MS, seen_at - since));

/**
 * The tier as the last response showed it. While it is doubted, that is no Full Access, although syncs still ask for all
 * lists.
 */
export const shownTier = (known: KnownTier): KnownTier =>
  known.doubted_at === null ? known : { ...known, tier: "public", since: known.doubted_at, evidence: DOUBTED };

/**
 * Routes of the Full Access tier that a sync may ask: all, none, or of these the account list alone, to find out.
 * `unknown`: the account list, and until it has answered nothing else, so that finding out costs one credit.
 */
export type TierAccess = "open" | "probe" | "closed" | "unknown";

/** `acceptsEmpty`: the user accepts that lists turned empty, and so wants them to be read. */
export const accessOf = (known: KnownTier | null, now: number, acceptsEmpty: boolean): TierAccess => {
  if (known === null) return "unknown";
  if (known.tier === "full" || acceptsEmpty) return "open";
  return now >= probeAt(known) ? "probe" : "closed";
};

const fileSchema = z.object({ v: z.literal(1), known: knownTierSchema.nullable() });

const fileOf = (dataDir: string): SharedFile<z.output<typeof fileSchema>> => ({
  path: join(dataDir, "state", "tier.json"),
  schema: fileSchema,
  holds: "tier",
  without: "the next sync finds out the tier again",
  empty: { v: 1, known: null },
});

/** The tier as last seen; null: not yet seen. Throws STATE_FILE_DAMAGED. */
export const readTier = async (dataDir: string): Promise<KnownTier | null> => (await readShared(fileOf(dataDir))).known;

/** Adds evidence to what is known. Throws STATE_FILE_DAMAGED, DATA_DIR_UNWRITABLE. */
export const learnTier = async (dataDir: string, evidence: TierEvidence, now: number): Promise<KnownTier | null> =>
  (await changeShared(fileOf(dataDir), ({ known }) => ({ v: 1 as const, known: tierAfter(known, evidence, now) })))
    .known;
