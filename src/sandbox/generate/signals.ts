// Generates the signals of a sandbox's account: business events of two years (API.md, "Signal").

import { fill, type Slots, signalText } from "../content/speech.ts";
import { EVENTS, type EventType } from "../content/words.ts";
import type { Random } from "../random.ts";
import { DAY_MS, day, HOUR_MS, iso, type Row } from "./load-rows.ts";

export interface SignalSubject {
  readonly organizationId: string;
  readonly accountId: string;
  readonly domain: string;
  readonly slots: Slots;
}

/** An event before it becomes a signal (and, for news, an article). */
export interface BusinessEvent {
  readonly type: EventType;
  /** ms since the epoch. */
  readonly at: number;
  readonly slots: Slots;
  readonly headline: string;
  readonly description: string;
  readonly subtype: string;
  readonly sources: readonly string[];
}

/** Fills one of the templates of the type. */
export const businessEvent = (
  random: Random,
  type: EventType,
  at: number,
  slots: Slots,
  sources: readonly string[] = [],
): BusinessEvent => {
  const template = random.pick(EVENTS[type]);
  return {
    type,
    at,
    slots,
    headline: fill(template.headline, slots, random),
    description: fill(template.description, slots, random),
    subtype: template.subtype,
    sources,
  };
};

const TRIAL_STATUSES = ["Recruiting", "Active, not recruiting", "Completed", "Enrolling by invitation"];

const clinical = (random: Random, at: number) => ({
  clinicalTrialPrimaryCompletionDate: random.maybe(0.8, day(at + random.int(60, 700) * DAY_MS)),
  clinicalTrialStudyCompletionDate: random.maybe(0.6, day(at + random.int(700, 1200) * DAY_MS)),
  clinicalTrialLastKnownStatus: random.pick(TRIAL_STATUSES),
  clinicalTrialCollaborators: random.maybe(0.5, ["University Hospital", "Institute for Clinical Research"]),
});

const media = (random: Random, type: EventType, domain: string) => {
  if (type === "podcast") {
    return { playUrls: { audio: `https://podcasts.example/${random.id(10)}`, durationSeconds: random.int(600, 4200) } };
  }
  if (type === "media-document") {
    return {
      slidesUrls: [`https://slides.example/${random.id(10)}`],
      documentsUrls: random.maybe(0.6, [`https://${domain}/media/${random.id(8)}.pdf`]),
    };
  }
  return {};
};

/**
 * The signal of an event, without `id`. No time is after `now`.
 * Detected 1 to 72 hours after the event; one in six changed again later.
 */
export const signalRow = (random: Random, subject: SignalSubject, event: BusinessEvent, now: number): Row => {
  const { type, at, slots } = event;
  const createdAt = Math.min(now, at + random.int(1, 72) * HOUR_MS + random.int(0, 3_599_999));
  const updatedAt = random.chance(0.16) ? Math.min(now, createdAt + random.int(1, 20 * 24) * HOUR_MS) : createdAt;
  const technologies = typeof slots.technology === "string" ? [slots.technology] : (slots.technology ?? []);
  const score = random.int(20, 98);
  const textSeed = `signal/${subject.accountId}/${at}/${random.id(6)}`;
  return {
    organizationId: subject.organizationId,
    accountId: subject.accountId,
    type,
    subtype: random.maybe(0.85, event.subtype),
    headline: event.headline,
    description: random.maybe(0.93, event.description),
    date: iso(at),
    sources: random.maybe(
      0.9,
      event.sources.length > 0 ? event.sources : [`https://${subject.domain}/news/${random.id(8)}`],
    ),
    matchingKeywords: random.maybe(0.55, random.sample(technologies, random.int(1, 3))),
    relevance: random.maybe(0.7, {
      score,
      level: score > 70 ? "high" : score > 45 ? "medium" : "low",
      reason: fill("Touches {technology}, which matters to {customer}.", slots, random),
    }),
    fullContent: random.chance(0.8) ? () => signalText(textSeed, slots, event.headline) : undefined,
    smartSummary: random.maybe(0.6, {
      bullets: [event.description, fill("Next step at {company}: {product} in {city}.", slots, random)],
    }),
    ...media(random, type, subject.domain),
    ...(type === "clinical-trial" ? clinical(random, at) : {}),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
  };
};
