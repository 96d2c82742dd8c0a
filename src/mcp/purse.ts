// The purse of an assistant: how many credits it may spend per call, per session and per day. Without one it spends nothing.
// A purchase takes its most expensive price first and gives back what it did not cost, so calls side by side stay within it.
import { join } from "node:path";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { changeShared, readShared, type SharedFile } from "../core/state/shared-file.ts";

const SPANS = ["call", "session", "day"] as const;
type Span = (typeof SPANS)[number];
/** Credits per span; an empty purse buys nothing. */
export type PurseLimits = Readonly<Partial<Record<Span, number>>>;

const isSpan = (text: string): text is Span => SPANS.some((span) => span === text);

/** `5/session`, `1/call,20/day` → limits. Throws USAGE. */
export const parsePurse = (text: string): PurseLimits => {
  const limits: Partial<Record<Span, number>> = {};
  for (const part of text.split(",")) {
    const [, credits, span = ""] = /^\s*(\d{1,9})\s*\/\s*(\w+)\s*$/.exec(part) ?? [];
    if (credits === undefined || !isSpan(span)) {
      const detail = `--purse: "${part.trim()}" is not credits per call, session or day, like 5/session or 1/call,20/day`;
      throw new DuckmirrorError("USAGE", { detail });
    }
    limits[span] = Number(credits);
  }
  return limits;
};

const fileSchema = z.object({ v: z.literal(1), day: z.string(), spent: z.number() });

/** Credits that assistants spent today, of all sessions on this mirror. */
const fileOf = (dataDir: string): SharedFile<z.output<typeof fileSchema>> => ({
  path: join(dataDir, "state", "purse.json"),
  schema: fileSchema,
  holds: "purse of assistants",
  without: "the purse of the day is full again",
  empty: { v: 1, day: "", spent: 0 },
});

export interface Purse {
  /** Credits that the next call may spend. */
  left(): Promise<number>;
  /**
   * Calls `buy` with the credits it may spend, at most `price`; `buy` returns what it cost. Null, and nothing is called: the
   * purse holds less than `least`.
   */
  spend<T>(
    price: { readonly least: number; readonly most: number },
    buy: (credits: number) => Promise<{ readonly value: T; readonly credits: number }>,
  ): Promise<{ readonly value: T; readonly credits: number } | null>;
}

/** The purse of one session. */
export const openPurse = (limits: PurseLimits, dataDir: string, clock: Pick<Clock, "now">): Purse => {
  const { call = Infinity, session: perSession = Infinity, day: perDay } = limits;
  const isEmpty = SPANS.every((span) => limits[span] === undefined);
  const file = fileOf(dataDir);
  let session = 0;
  const today = () => new Date(clock.now()).toISOString().slice(0, 10);
  const spentOf = ({ day, spent }: z.output<typeof fileSchema>) => (day === today() ? spent : 0);
  const ofSession = () => Math.max(0, Math.min(isEmpty ? 0 : call, perSession - session));

  /** Takes up to `most` credits out of the purse; 0: it holds less than `least`. */
  const take = async (least: number, most: number): Promise<number> => {
    let taken = Math.min(most, ofSession());
    if (perDay !== undefined) {
      const wanted = taken;
      await changeShared(file, (value) => {
        taken = Math.min(wanted, perDay - spentOf(value));
        return taken < least ? value : { v: 1 as const, day: today(), spent: spentOf(value) + taken };
      });
    }
    if (taken < least) return 0;
    session += taken;
    return taken;
  };
  const giveBack = async (credits: number): Promise<void> => {
    session -= credits;
    if (perDay === undefined || credits === 0) return;
    await changeShared(file, (value) => ({ ...value, spent: Math.max(0, value.spent - credits) }));
  };
  // One at a time, so that what one call takes is gone for the next.
  let taking: Promise<unknown> = Promise.resolve();
  const taken = (least: number, most: number): Promise<number> => {
    const next = taking.then(() => take(least, most));
    taking = next.catch(() => undefined);
    return next;
  };
  return {
    left: async () =>
      perDay === undefined ? ofSession() : Math.min(ofSession(), Math.max(0, perDay - spentOf(await readShared(file)))),
    spend: async ({ least, most }, buy) => {
      const granted = await taken(least, most);
      if (granted === 0) return null;
      // A call that failed may have been charged, so it counts in full.
      const bought = await buy(granted);
      await giveBack(granted - bought.credits);
      return bought;
    },
  };
};
