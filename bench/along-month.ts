// Case along-month: how old fields of contacts get that have no change date (an email's status, talking points). A look
// at what changed does not bring them; walks do, and insights, which carry the contacts of their account (decision
// 0116). Both ages come from the same simulated month, because what comes along costs nothing.
import { PLANS, type PlanName } from "../src/sandbox/limits/credits.ts";
import type { Candidate } from "../src/sync/plan/candidate.ts";
import type { BenchCase, Figure } from "./case.ts";
import { DAY, randomFrom, START, simulate, WORLD } from "./simulated-month.ts";

const ACCOUNTS = 500;
/** The default, and the longest that an insight is kept. */
const WALKS_EVERY = [7, 30];
/** Ages are taken after each sync of the month's last days. */
const LAST_DAYS = 7;

/** Contacts of each account: when they were last read. */
type Times = readonly number[][];

const neverRead = (): Times =>
  Array.from({ length: ACCOUNTS }, () => Array.from({ length: WORLD.rows.contacts }, () => Number.NaN));

const createWatch = () => {
  const random = randomFrom(ACCOUNTS);
  const before = neverRead();
  const after = neverRead();
  const ages: Record<"before" | "after", number[]> = { before: [], after: [] };
  let lookedAt = START;
  let insights = 0;
  /** Reads each contact with this likelihood. */
  const readContacts = (share: number, now: number) => {
    for (const [account, contacts] of before.entries()) {
      for (const contact of contacts.keys()) {
        if (share < 1 && random() >= share) continue;
        for (const times of [before, after]) (times[account] ?? [])[contact] = now;
      }
    }
  };
  return {
    ages,
    insights: () => insights,
    read: ({ stream, scope, mode }: Candidate, now: number) => {
      if (stream === "account_insights") {
        insights += 1;
        after[Number(scope)]?.fill(now);
      }
      if (stream !== "contacts") return;
      readContacts(mode === "walk" ? 1 : (WORLD.changedPerDay.contacts * (now - lookedAt)) / DAY, now);
      lookedAt = now;
    },
    synced: (now: number) => {
      if (now < START + (30 - LAST_DAYS) * DAY) return;
      for (const [name, times] of [
        ["before", before],
        ["after", after],
      ] as const) {
        for (const at of times.flat()) ages[name].push((now - at) / DAY);
      }
    },
  };
};

const ageText = (ages: readonly number[]): string => {
  const sorted = ages.toSorted((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN).toFixed(1);
  return `${at(1)} d at worst, nine of ten below ${at(0.9)} d, half below ${at(0.5)} d`;
};

const figuresOf = (plan: PlanName, walksEvery: number): readonly Figure[] => {
  const watch = createWatch();
  const { spent } = simulate(plan, ACCOUNTS, { reconcileEveryMs: walksEvery * DAY, watch });
  const credits = `${spent.toLocaleString("en-US")} of ${PLANS[plan].creditsPerMonth.toLocaleString("en-US")} credits`;
  const measure = `${plan}, a walk every ${walksEvery} days, ${credits}`;
  return [
    { measure: `${measure}: by the list alone`, value: ageText(watch.ages.before), aim: "", reached: null },
    {
      measure: `${measure}: with what ${watch.insights().toLocaleString("en-US")} insights brought along`,
      value: ageText(watch.ages.after),
      aim: "",
      reached: null,
    },
  ];
};

export const alongMonth: BenchCase = {
  id: "along-month",
  title: `Age of contact fields without a change date, ${ACCOUNTS} accounts, the last ${LAST_DAYS} days of a simulated month`,
  run: async () =>
    (["build", "scale"] as const).flatMap((plan) => WALKS_EVERY.flatMap((days) => figuresOf(plan, days))),
};
