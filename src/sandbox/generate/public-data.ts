// Generates the public data of a sandbox's company: profile, news, job openings, earnings calls, filings (API.md, "Company (public)" and
// following).

import { article, filingText, fill, jobDescription, sentences, transcript } from "../content/speech.ts";
import { DEPARTMENTS, EMPLOYMENT_TYPES, INSIGHT_LINES, INVESTORS, PUBLISHERS, SENIORITIES } from "../content/words.ts";
import { createRandom, type Random } from "../random.ts";
import type { Firm } from "./firms.ts";
import { DAY_MS, day, HOUR_MS, iso, type Row } from "./load-rows.ts";
import { type BusinessEvent, businessEvent } from "./signals.ts";

/** Events are in the two years before `now`. */
const HISTORY_DAYS = 730;

export interface PublicData {
  readonly company: Row;
  readonly news: readonly Row[];
  readonly jobs: readonly Row[];
  /** Without ids, because ids grow with time across all companies. */
  readonly calls: readonly Row[];
  readonly filings: readonly Row[];
  /** Subjects of the signals of an account of this company. */
  readonly events: readonly BusinessEvent[];
}

const companyRow = (firm: Firm, random: Random): Row => {
  const { place, industry, slots } = firm;
  const path = firm.domain.replace(/\..*$/, "");
  return {
    id: firm.id,
    name: random.maybe(0.99, firm.name),
    domain: firm.domain,
    websiteUrl: random.maybe(0.97, `https://www.${firm.domain}`),
    description: random.maybe(0.9, sentences(INSIGHT_LINES.overview, 2, slots, random).join(" ")),
    industry: random.maybe(0.96, industry.name),
    headquartersLocation: random.maybe(0.95, `${place.city}, ${place.region}, ${place.countryCode}`),
    numberOfEmployees: random.maybe(0.93, firm.employees),
    mainStockSymbol: firm.symbol,
    fundingDataUrl: random.maybe(0.8, `https://funding.example/organization/${path}-${firm.id.slice(0, 4)}`),
    professionalNetworkUrl: random.maybe(0.9, `https://network.example/company/${path}-${firm.id.slice(0, 4)}`),
    fiscalYearInfo:
      firm.symbol === undefined
        ? undefined
        : { fiscalYearEnd: random.pick(["12-31", "06-30", "03-31"]), currency: random.pick(["USD", "EUR"]) },
    insights: random.maybe(0.75, {
      positioning: sentences(INSIGHT_LINES.overview, 2, slots, random),
      strategicInitiatives: sentences(INSIGHT_LINES.initiatives, 3, slots, random),
      risks: sentences(INSIGHT_LINES.threats, 2, slots, random),
    }),
  };
};

/** An article about an event; its address becomes the event's source. */
export const newsFor = (random: Random, firm: Pick<Firm, "id">, event: BusinessEvent, url: string): Row => {
  const publisher = random.pick(PUBLISHERS);
  const seed = `news/${firm.id}/${url}`;
  return {
    id: random.id(20),
    companyId: firm.id,
    headline: random.maybe(0.97, event.headline),
    url,
    datePublished: iso(event.at),
    description: random.maybe(0.85, event.description),
    excerpt: random.maybe(0.6, `${event.description.slice(0, 120)}…`),
    publisher: random.maybe(0.9, publisher.name),
    publisherUrl: random.maybe(0.8, publisher.url),
    featuredImageUrl: random.maybe(0.5, `https://images.example/${random.id(12)}.jpg`),
    articleBody: random.chance(0.92) ? () => article(seed, event.slots, event.headline) : undefined,
  };
};

export interface Opening {
  readonly row: Row;
  readonly opened: BusinessEvent;
  readonly closed?: BusinessEvent;
}

/** A job opening with the events that announce and close it. A closed one closed at `closedAt`. */
export const jobOpening = (random: Random, firm: Firm, at: number, closedAt: number | undefined): Opening => {
  const department = random.pick(DEPARTMENTS);
  const title = random.pick(department.titles.slice(0, 4));
  const aTitle = `${/^[AEIOU]/.test(title) ? "an" : "a"} ${title}`;
  const slots = { ...firm.slots, aTitle, department: department.name, skill: department.skills, city: firm.place.city };
  const url = `https://${firm.domain}/careers/${random.id(9)}`;
  const seed = `job/${firm.id}/${url}`;
  const row = {
    id: String(random.int(3_000_000_000, 3_999_999_999)),
    companyId: firm.id,
    status: random.maybe(0.95, closedAt === undefined ? "open" : "closed"),
    url,
    title: random.maybe(0.98, title),
    companyName: random.maybe(0.95, firm.name),
    location: random.maybe(0.9, `${firm.place.city}, ${firm.place.countryCode}`),
    postedOn: day(at),
    applicants: random.maybe(0.55, random.pick(["Over 200 applicants", `${random.int(2, 180)} applicants`])),
    seniorityLevel: random.maybe(0.7, random.pick(SENIORITIES)),
    employmentType: random.maybe(0.85, random.pick(EMPLOYMENT_TYPES)),
    jobFunction: random.maybe(0.75, department.name),
    industries: random.maybe(0.7, firm.industry.name),
    jobDescription: random.chance(0.9) ? () => jobDescription(seed, slots, title) : undefined,
  };
  return {
    row,
    opened: businessEvent(random, "hiring-alert", at, slots, [url]),
    ...(closedAt === undefined ? {} : { closed: businessEvent(random, "hiring-alert-closed", closedAt, slots, [url]) }),
  };
};

const quarterOf = (ms: number) => ({
  year: new Date(ms).getUTCFullYear(),
  quarter: Math.floor(new Date(ms).getUTCMonth() / 3) + 1,
});

const listedCompanyData = (random: Random, firm: Firm, now: number) => {
  const calls: Row[] = [];
  const filings: Row[] = [];
  const events: BusinessEvent[] = [];
  const speakers = firm.people.slice(0, 2).map(({ first, last }) => `${first} ${last}`);
  const age = random.int(5, 80);
  for (let back = 0; back < random.int(3, 5); back++) {
    const at = now - (age + back * 91) * DAY_MS + random.int(0, 8) * HOUR_MS;
    const { year, quarter } = quarterOf(at - 60 * DAY_MS);
    const title = `${firm.name} Q${quarter} ${year} earnings call`;
    const call = `https://investors.${firm.domain}/${year}/q${quarter}`;
    const seed = `call/${firm.id}/${year}/${quarter}`;
    calls.push({
      companyId: firm.id,
      stockSymbol: firm.symbol,
      year,
      quarter,
      happenedAt: iso(at),
      audioUrl: random.maybe(0.8, `${call}/audio.mp3`),
      reportUrl: random.maybe(0.7, `${call}/report.pdf`),
      presentationUrl: random.maybe(0.6, `${call}/slides.pdf`),
      fullTranscript: random.chance(0.95) ? () => transcript(seed, firm.slots, speakers, title) : undefined,
      generatedAnalysis: random.maybe(0.85, {
        sentiment: random.pick(["positive", "neutral", "cautious"]),
        highlights: sentences(INSIGHT_LINES.financials, 2, firm.slots, random),
        initiatives: sentences(INSIGHT_LINES.initiatives, 2, firm.slots, random),
        risks: sentences(INSIGHT_LINES.threats, 2, firm.slots, random),
      }),
    });
    const slots = { ...firm.slots, quarter: String(quarter), year: String(year) };
    events.push(businessEvent(random, "earnings-call", at, slots, [call]));
  }
  for (let back = 0; back < random.int(5, 7); back++) {
    const at = now - (age + 10 + back * 85) * DAY_MS;
    const { year, quarter } = quarterOf(at - 60 * DAY_MS);
    const form = quarter === 4 ? "10-K" : random.pick(["10-Q", "10-Q", "8-K"]);
    const accession = `${random.int(1_000_000_000, 1_999_999_999)}-${String(year).slice(2)}-${random.int(100_000, 999_999)}`;
    const url = `https://filings.example/${accession}`;
    const seed = `filing/${firm.id}/${accession}`;
    filings.push({
      companyId: firm.id,
      type: random.maybe(0.98, form),
      accessionNumber: random.maybe(0.95, accession),
      url: random.maybe(0.95, url),
      filingDate: day(at),
      reportDate: random.maybe(0.85, day(at - 40 * DAY_MS)),
      fiscalYear: random.maybe(0.92, year),
      quarter: form === "8-K" ? undefined : quarter,
      fullContent: random.chance(0.95)
        ? () => filingText(seed, firm.slots, `${firm.name}: form ${form} for fiscal year ${year}`)
        : undefined,
    });
    const slots = { ...firm.slots, form, year: String(year) };
    events.push(businessEvent(random, "filing-alert", at, slots, [url]));
  }
  return { calls, filings, events };
};

const fundingEvents = (random: Random, firm: Firm, now: number): BusinessEvent[] => {
  const rounds = ["Seed round", "Series A", "Series B", "Series C", "Series D"];
  const first = random.int(0, 4);
  return Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, (_, index) => {
    const round = rounds[Math.min(first + index, rounds.length - 1)] ?? "growth round";
    const amount = `$${Math.round(4 * 2.2 ** (first + index) * (0.6 + random.next()))} million`;
    const [lead = "an investor", ...others] = random.sample(INVESTORS, 3);
    const at = now - random.int(1, HISTORY_DAYS) * DAY_MS - random.int(0, 86_399_999);
    return businessEvent(random, "funding-alert", at, {
      ...firm.slots,
      round,
      amount,
      lead,
      others: others.join(" and "),
    });
  });
};

/** All public data of a company, and the events behind it. */
export const publicData = (seed: string, firm: Firm, now: number): PublicData => {
  const random = createRandom(`${seed}/public/${firm.index}`);
  const someTime = (days = HISTORY_DAYS) => now - random.int(0, days - 1) * DAY_MS - random.int(1, 86_399_999);
  const openings = Array.from({ length: random.int(3, 13) }, () => {
    const at = someTime(300);
    const closedAt = random.chance(0.4) ? at + random.int(10, 120) * DAY_MS : undefined;
    return jobOpening(random, firm, at, closedAt !== undefined && closedAt < now ? closedAt : undefined);
  });
  const listed =
    firm.symbol === undefined ? { calls: [], filings: [], events: [] } : listedCompanyData(random, firm, now);
  const funding = firm.symbol === undefined ? fundingEvents(random, firm, now) : [];
  const stories = Array.from({ length: random.int(4, 12) }, () =>
    businessEvent(
      random,
      random.pick(["relevant-news", "relevant-news", "press-release"] as const),
      someTime(),
      firm.slots,
    ),
  );
  const newsworthy = [...funding, ...stories].map((event) => {
    const url = `https://news.example/${new Date(event.at).getUTCFullYear()}/${random.id(10)}`;
    return { row: newsFor(random, firm, event, url), event: { ...event, sources: [url] } };
  });
  return {
    company: companyRow(firm, random),
    news: newsworthy.map(({ row }) => row),
    jobs: openings.map(({ row }) => row),
    calls: listed.calls,
    filings: listed.filings,
    events: [
      ...newsworthy.map(({ event }) => event),
      ...openings.flatMap(({ opened, closed }) => [
        ...(random.chance(0.7) ? [opened] : []),
        ...(closed ? [closed] : []),
      ]),
      ...listed.events,
    ],
  };
};

/** Events outside public data: takeovers, podcasts, documents, trials, so that an account has 15 to 40. */
export const moreEvents = (random: Random, firm: Firm, known: number, now: number): BusinessEvent[] => {
  const wanted = Math.max(random.int(15, 40) - known, 2);
  const types = [
    "relevant-news",
    "relevant-news",
    "press-release",
    "m-and-a-alert",
    "podcast",
    "media-document",
  ] as const;
  const slots = {
    ...firm.slots,
    lead: INVESTORS,
    phase: ["1", "2", "3"],
    status: ["recruiting", "completed", "active"],
  };
  return Array.from({ length: wanted }, () => {
    const type = firm.industry.clinical === true && random.chance(0.2) ? "clinical-trial" : random.pick(types);
    const at = now - random.int(0, HISTORY_DAYS - 1) * DAY_MS - random.int(1, 86_399_999);
    return businessEvent(random, type, at, slots);
  });
};

/** A sentence about the company for the summaries of its account. */
export const oneLine = (firm: Pick<Firm, "slots">, random: Random): string =>
  fill("{company} sells its {product} to {customer}.", firm.slots, random);
