// Case plan-month: how fresh a mirror stays on each plan, by a month in simulated time.
import { PLANS, type PlanName } from "../src/sandbox/limits/credits.ts";
import { atMost, type BenchCase, type Figure, median } from "./case.ts";
import { DAY, HOUR, type Month, type Spending, simulate } from "./simulated-month.ts";

const SIZES = [100, 1000, 10_000];
/** Followed companies of an organization without Full Access. */
const FOLLOWED = [20, 100, 1000];

const PLAN_NAMES = ["free", "build", "scale", "pro"] as const;

const days = (ms: number) => (ms < 2 * DAY ? `${(ms / HOUR).toFixed(0)} h` : `${(ms / DAY).toFixed(0)} d`);

const figureOf = (plan: PlanName, size: number, month: Month): Figure => {
  const { spent, wholeOn, covered, organization, company, errors } = month;
  const { creditsPerMonth } = PLANS[plan];
  const share = covered === 1 ? "100%" : `${(Math.floor(covered * 1000) / 10).toFixed(1)}%`;
  const whole = wholeOn === null ? `${share} mirrored` : `whole on day ${Math.ceil(wholeOn) + 1}`;
  const own = organization.length === 0 ? "" : `, own lists ≤ ${days(Math.max(...organization))} old`;
  const ages =
    company.length === 0 ? "" : `, company lists ${days(median(company))} (worst ${days(Math.max(...company))})`;
  return {
    measure: `${plan}, ${creditsPerMonth.toLocaleString("en-US")} credits, ${size.toLocaleString("en-US")} ${plan === "free" ? "companies" : "accounts"}`,
    value: `${whole}${own}${ages}; ${spent.toLocaleString("en-US")} credits, forecasts off by ${median(errors).toFixed(1)}%`,
    aim: "",
    reached: spent <= creditsPerMonth ? null : false,
  };
};

const spendingText = ({ companies, organization, usage }: Spending): string =>
  `${companies} credits on companies, ${organization} on empty lists, ${usage} on usage`;

/** Without Full Access: what the credits buy, with the tier known and without. */
const publicFigure = (size: number): Figure => {
  const after = simulate("free", size).on;
  const before = simulate("free", size, { knowing: false }).on;
  const spent = after.companies + after.organization + after.usage;
  return {
    measure: `free, without Full Access, ${size.toLocaleString("en-US")} followed companies`,
    value: `${spendingText(after)}; before: ${spendingText(before)}`,
    aim: "≥ 95% on companies, ≤ 1 on empty lists",
    reached: after.companies >= 0.95 * spent && after.organization <= 1,
  };
};

/** Errors of the forecasts over all months: of single syncs, and of the credits of the month. */
const forecastFigures = (months: readonly { readonly limit: number; readonly month: Month }[]): readonly Figure[] => {
  const ofMonths = months.flatMap(({ limit, month: { spent, leftAtReset } }) =>
    leftAtReset.map((left) => (100 * Math.abs(Math.min(limit, limit - left) - spent)) / spent),
  );
  const syncs = months.flatMap(({ month }) => month.errors);
  const uncut = months.flatMap(({ month }) => month.uncutErrors);
  return [
    atMost(`median error of ${syncs.length} forecasts of a sync's credits`, median(syncs), 5, "%", 1),
    {
      measure: `of these, ${uncut.length} of syncs that the credits did not cut`,
      value: `${median(uncut).toFixed(1)}%`,
      aim: "",
      reached: null,
    },
    atMost(`median error of ${ofMonths.length} forecasts of the month's credits`, median(ofMonths), 5, "%", 1),
  ];
};

export const planMonth: BenchCase = {
  id: "plan-month",
  title:
    "A month on each plan, a sync every six hours, in simulated time: what is mirrored and how old it is at the end",
  run: async (): Promise<readonly Figure[]> => {
    const months = PLAN_NAMES.flatMap((plan) => SIZES.map((size) => ({ plan, size, month: simulate(plan, size) })));
    return [
      ...months.map(({ plan, size, month }) => figureOf(plan, size, month)),
      ...FOLLOWED.map(publicFigure),
      ...forecastFigures(months.map(({ plan, month }) => ({ limit: PLANS[plan].creditsPerMonth, month }))),
    ];
  },
};
