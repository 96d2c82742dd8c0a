// Limits of a ledger: none, and a run a day, but for what is given.
import type { Limits } from "../../../src/budget/credits/ledger.ts";

export const limits = (more: Partial<Limits> = {}): Limits => ({
  maxCredits: null,
  reserve: 0,
  pace: "greedy",
  runEveryMs: 86_400_000,
  ...more,
});
