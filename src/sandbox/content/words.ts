// Words of generated companies, contacts, jobs, events and texts (words.json). speech.ts fills the words in braces: {aTitle},
// {round}, {amount}, ... per event.
import words from "./words.json" with { type: "json" };

export interface Industry {
  readonly name: string;
  /** Endings of company names in this industry. */
  readonly suffixes: readonly string[];
  readonly products: readonly string[];
  readonly customers: readonly string[];
  readonly technologies: readonly string[];
  /** True when clinical trials are among its events. */
  readonly clinical?: boolean;
}
export const INDUSTRIES: readonly Industry[] = words.industries;
/** First parts of company names. */
export const NAME_STEMS: readonly string[] = words.nameStems.split(",");
export const INVESTORS: readonly string[] = words.investors;
export const PUBLISHERS: readonly { readonly name: string; readonly url: string }[] = words.publishers;

interface Department {
  readonly name: string;
  /** Titles rise from left to right: a promotion takes the next one. */
  readonly titles: readonly string[];
  /** Requirements of an opening in this department. */
  readonly skills: readonly string[];
}
export const DEPARTMENTS: readonly Department[] = words.departments;
export const EXECUTIVE_TITLES: readonly string[] = words.executiveTitles;
export const CONTACT_ROLES: readonly string[] = words.contactRoles;
export const EMPLOYMENT_TYPES: readonly string[] = words.employmentTypes;
export const SENIORITIES: readonly string[] = words.seniorities;

/** The title after this one in its department; undefined: there is none. */
export const nextTitle = (title: string): string | undefined => {
  const titles = DEPARTMENTS.find((department) => department.titles.includes(title))?.titles ?? [];
  return titles[titles.indexOf(title) + 1];
};

export interface EventTemplate {
  readonly subtype: string;
  readonly headline: string;
  readonly description: string;
}
export type EventType = keyof typeof words.events;
/** Templates of signals and news, by type. */
export const EVENTS: Readonly<Record<EventType, readonly EventTemplate[]>> = words.events;
/** Lines of the generated insights, by list. */
export const INSIGHT_LINES = words.insightLines;
/** Sentences of long texts, by their kind. */
export const SENTENCES: Readonly<
  Record<"remarks" | "questions" | "answers" | "reports" | "duties" | "disclosures", readonly string[]>
> = words;
