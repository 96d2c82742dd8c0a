// Generates accounts of a sandbox, their owners and their consolidated insights (API.md, "Account" and "Account insight").

import { personNames } from "../content/person-names.ts";
import { fill, type Slots, sentences } from "../content/speech.ts";
import { INSIGHT_LINES } from "../content/words.ts";
import { createRandom, hash, type Random } from "../random.ts";
import type { Firm } from "./firms.ts";
import { DAY_MS, HOUR_MS, iso, type Row } from "./load-rows.ts";
import { oneLine } from "./public-data.ts";

type LineName = keyof typeof INSIGHT_LINES;

const lines = (name: LineName, slots: Slots, random: Random, max = 3): string[] =>
  sentences(INSIGHT_LINES[name], random.int(1, max), slots, random);

/** Users who own accounts: one per about 20 accounts. */
export const generateOwners = (seed: string, accounts: number): readonly Row[] => {
  const random = createRandom(`${seed}/owners`);
  const names = personNames("en", hash(`${seed}/owners`), Math.max(2, Math.ceil(accounts / 20)));
  return names.map(({ first, last }) => {
    const id = `usr_${random.id(16)}`;
    const email = `${first}.${last}`.toLowerCase().replace(/[^a-z.]/g, "");
    return { id, data: { id, firstName: first, lastName: last, email: `${email}@seller.example`, role: "member" } };
  });
};

/** Inputs of an account's score. */
export interface Activity {
  /** Signals of the last 60 days. */
  readonly recentSignals: number;
  /** When the latest signal was created, ms since the epoch. */
  readonly latestAt: number;
  readonly peopleUpdates: readonly string[];
  readonly topNews: readonly string[];
}

export const scoreOf = (recentSignals: number, fit: number): number =>
  Math.round(Math.min(100, recentSignals * 9 + fit * 0.45) * 10) / 10;

const swot = (slots: Slots, random: Random) => ({
  strengths: lines("strengths", slots, random),
  weaknesses: lines("weaknesses", slots, random),
  opportunities: lines("opportunities", slots, random),
  threats: lines("threats", slots, random),
});

const threeWhys = (slots: Slots, random: Random) => ({
  whyChange: fill("{rival} moves faster with {technology}.", slots, random),
  whyNow: fill("The budget for {product} is decided within {small} months.", slots, random),
  whyUs: fill("References among {customer} in {city}.", slots, random),
});

const valuePyramid = (slots: Slots, random: Random) => ({
  goals: lines("initiatives", slots, random),
  strategies: lines("initiatives", slots, random),
  obstacles: lines("challenges", slots, random),
});

/** An account of `firm`; the caller chooses `id` and `createdAt`, because ids grow with time. */
export const accountRow = (
  random: Random,
  firm: Firm,
  account: { readonly id: string; readonly organizationId: string; readonly createdAt: number },
  ownerIds: readonly string[],
  activity: Activity,
  now: number,
): Row => {
  const { slots, place } = firm;
  const fit = random.int(5, 100);
  const path = firm.domain.replace(/\..*$/, "");
  const refreshed = now - random.int(0, 20 * 24) * HOUR_MS - random.int(0, 3_599_999);
  const updatedAt = Math.max(account.createdAt, Math.min(now, Math.max(activity.latestAt, refreshed)));
  const enriched = random.chance(0.85);
  const content = <T>(p: number, value: () => T): T | undefined => (enriched && random.chance(p) ? value() : undefined);
  return {
    id: account.id,
    organizationId: account.organizationId,
    companyId: random.chance(0.95) ? firm.id : undefined,
    ownerId: random.maybe(0.85, random.pick(ownerIds)),
    createdAt: iso(account.createdAt),
    updatedAt: iso(updatedAt),
    name: random.maybe(0.99, firm.name),
    domain: random.maybe(0.98, firm.domain),
    logoUrl: random.maybe(0.8, `https://images.example/logos/${path}.png`),
    featuredImageUrl: random.maybe(0.4, `https://images.example/${random.id(12)}.jpg`),
    description: random.maybe(0.88, oneLine(firm, random)),
    industry: random.maybe(0.95, firm.industry.name),
    headquartersLocation: random.maybe(0.93, `${place.city}, ${place.region}, ${place.countryCode}`),
    numberOfEmployees: random.maybe(0.9, firm.employees),
    type: random.pick([
      "prospect",
      "prospect",
      "prospect",
      "customer",
      "customer",
      "open-opportunity",
      "partner",
      "churned",
      "competitor",
      "other",
    ]),
    priority: random.maybe(0.8, random.int(1, 3)),
    mainScore: random.maybe(0.97, scoreOf(activity.recentSignals, fit)),
    mainScoreComponents: random.maybe(0.9, { activity: activity.recentSignals, fit, engagement: random.int(0, 100) }),
    summary: content(0.9, () => ({ text: oneLine(firm, random), keyPoints: lines("initiatives", slots, random) })),
    insights: content(0.85, () => ({
      opportunities: lines("opportunities", slots, random),
      challenges: lines("challenges", slots, random),
      peopleUpdates: activity.peopleUpdates,
      topNews: activity.topNews,
    })),
    swotAnalysis: content(0.8, () => swot(slots, random)),
    threeWhys: content(0.7, () => threeWhys(slots, random)),
    valuePyramid: content(0.6, () => valuePyramid(slots, random)),
    valueProposition: content(0.6, () => ({ ideas: lines("opportunities", slots, random) })),
    valueHypothesis: content(0.6, () => ({ hypothesis: lines("opportunities", slots, random, 1), match: fit })),
    pointOfView: content(0.5, () => ({
      statement: fill("{company} will need {technology} to serve {customer}.", slots, random),
    })),
    professionalNetworkUrl: random.maybe(0.85, `https://network.example/company/${path}`),
    fundingDataUrl: random.maybe(0.6, `https://funding.example/organization/${path}`),
    contactDataUrl: random.maybe(0.4, `https://contacts.example/c/${path}`),
    crmUrl: random.maybe(0.75, `https://crm.example/accounts/${random.id(15)}`),
    salesToolUrl: random.maybe(0.3, `https://salestool.example/a/${random.int(10_000, 9_999_999)}`),
    addedOn: random.maybe(0.95, iso(account.createdAt - (account.createdAt % DAY_MS))),
    lastRefreshAt: random.maybe(0.9, iso(Math.max(account.createdAt, Math.min(refreshed, now)))),
    countryCode: random.maybe(0.95, place.countryCode),
  };
};

/** The insight of an account. `profile` is left out: the replica builds it from the present account. */
export const insightRow = (random: Random, firm: Firm, accountId: string, activity: Activity): Row => {
  const { slots } = firm;
  const [chief = { first: "The", last: "management" }] = firm.people;
  return {
    accountId,
    status: "found",
    summary: random.maybe(0.95, {
      keyInsights: lines("initiatives", slots, random),
      opportunities: lines("opportunities", slots, random),
      challenges: lines("challenges", slots, random),
      peopleUpdates: activity.peopleUpdates,
      topNews: activity.topNews,
      talkingPoints: lines("talkingPoints", slots, random),
      executivePerspective: lines("quotes", slots, random, 2).map((quote) => ({
        quote,
        attribution: `${chief.first} ${chief.last}, Chief Executive Officer`,
      })),
    }),
    research: random.maybe(0.9, {
      companyOverview: lines("overview", slots, random),
      keyPeopleChanges: activity.peopleUpdates,
      keyProjects: lines("initiatives", slots, random),
      aspirations: lines("quotes", slots, random),
      businessGoals: lines("initiatives", slots, random),
      opportunities: lines("opportunities", slots, random),
      macroeconomicPerspective: lines("macro", slots, random),
      recentPressAnnouncements: activity.topNews,
      strategicInitiatives: lines("initiatives", slots, random),
      financials: lines("financials", slots, random),
      businessModel: {
        revenue: random.pick(["subscriptions", "projects", "products and service"]),
        customers: firm.industry.customers,
      },
    }),
    swotAnalysis: random.maybe(0.85, swot(slots, random)),
    value: random.maybe(0.75, {
      threeWhys: threeWhys(slots, random),
      valuePyramid: valuePyramid(slots, random),
      valuePropositionIdeas: lines("opportunities", slots, random),
      valueHypothesis: lines("opportunities", slots, random),
      pointOfView: lines("talkingPoints", slots, random),
    }),
  };
};
