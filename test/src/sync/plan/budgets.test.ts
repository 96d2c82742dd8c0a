// What budgets leave out of a plan.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Budget } from "../../../../src/core/config/planning/budget-settings.ts";
import { type Spent, withinBudgets } from "../../../../src/sync/plan/budgets.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { due } from "./planning-input.ts";

const aBudget = (more: Partial<Budget>): Budget => ({ perDay: null, perPeriod: null, minIntervalMs: 0, ...more });
const work = (more: Partial<Candidate>) => due("job_openings", "walk", { scope: "c1", ...more });
const credits = (count: number) => ({ credits: count });
const NOTHING: readonly Spent[] = [];

test("without budgets, everything is within them", () => {
  const candidates = [work({ requests: 7 }), work({ requests: null })];
  expect(withinBudgets(candidates, { budgets: {}, spent: NOTHING, limit: null })).toEqual({ candidates, cuts: [] });
});

test("the most valuable work gets the credits; what was spent before counts", () => {
  const budgets = { job_openings: aBudget({ perDay: credits(5) }) };
  const spent = [{ stream: "job_openings", work: null, ofDay: 1, ofPeriod: 9 }];
  const candidates = [work({ scope: "a", requests: 3 }), work({ scope: "b", requests: 4 }), work({ scope: "c" })];
  const within = withinBudgets(candidates, { budgets, spent, limit: null });
  expect(within.candidates.map(({ scope, requests }) => [scope, requests])).toEqual([
    ["a", 3],
    ["b", 1],
  ]);
  expect(within.cuts).toEqual([{ budget: "job_openings.per_day", allowed: 5, spent: 1, leftOut: 4 }]);
});

describe("kinds of work", () => {
  const candidates = [
    work({ stream: "signals", scope: "", mode: "watermark" }),
    work({ stream: "signals", scope: "detail:1", mode: "detail" }),
    work({ stream: "accounts", scope: "", mode: "walk", requests: 10 }),
  ];
  const left = (budgets: Record<string, Budget>) =>
    withinBudgets(candidates, { budgets, spent: NOTHING, limit: 100 }).candidates.map(({ mode }) => mode);

  test.each([
    ["looks", ["detail", "walk"]],
    ["content", ["watermark", "walk"]],
    ["walks", ["watermark", "detail"]],
    ["verify", ["watermark", "detail", "walk"]],
  ])("%s", (name, expected) => {
    expect(left({ [name]: aBudget({ perPeriod: credits(0) }) })).toEqual(expected);
  });

  test("a share is one of the period's credits, and allows everything while these are not known", () => {
    const budgets = { walks: aBudget({ perPeriod: { share: 0.04 } }) };
    const walk = (limit: number | null) =>
      withinBudgets(candidates, { budgets, spent: NOTHING, limit }).candidates.at(-1)?.requests;
    expect(walk(100)).toBe(4);
    expect(walk(null)).toBe(10);
  });
});

test("no budget is exceeded, and nothing is left out while all of its budgets have credits", () => {
  const cap = fc.option(fc.integer({ min: 0, max: 20 }).map(credits), { nil: null });
  const budget = fc.record({ perDay: cap, perPeriod: cap, minIntervalMs: fc.constant(0) });
  const budgets = fc.record({ job_openings: budget, filings: budget, walks: budget, looks: budget });
  const candidate = fc
    .record({
      stream: fc.constantFrom("job_openings" as const, "filings" as const),
      mode: fc.constantFrom("walk" as const, "known" as const),
      requests: fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }),
    })
    .map(work);
  fc.assert(
    fc.property(budgets, fc.array(candidate, { maxLength: 20 }), (given, candidates) => {
      const { candidates: within, cuts } = withinBudgets(candidates, { budgets: given, spent: NOTHING, limit: null });
      const sum = (list: readonly Candidate[], name: string) =>
        list
          .filter(({ stream, mode }) => stream === name || (mode === "walk" ? "walks" : "looks") === name)
          .reduce((total, { requests }) => total + (requests ?? 1), 0);
      for (const [name, { perDay, perPeriod }] of Object.entries(given)) {
        const most = Math.min(perDay?.credits ?? 1e9, perPeriod?.credits ?? 1e9);
        expect(sum(within, name)).toBeLessThanOrEqual(most);
      }
      if (cuts.length === 0) expect(within).toEqual(candidates);
      else expect(within).not.toEqual(candidates);
    }),
  );
});
