// Resources as API.md lists them, and what its words say besides: which numbers are scores, and which texts are moments.
import { apiFields } from "../support/api-fields.ts";

export type Kind = "text" | "whole" | "small" | "score" | "flag" | "time" | "day" | "object" | "texts";

export interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly optIn: boolean;
}

const KIND_OF_TYPE: Readonly<Record<string, Kind>> = {
  string: "text",
  number: "whole",
  boolean: "flag",
  object: "object",
  "string[]": "texts",
};

/** Of fields whose kind their type does not say. */
const KIND_OF_NAME: Readonly<Record<string, Kind>> = {
  mainScore: "score",
  priority: "small",
  year: "small",
  quarter: "small",
  fiscalYear: "small",
  createdAt: "time",
  updatedAt: "time",
  lastRefreshAt: "time",
  lastChangeDetectedOn: "time",
  datePublished: "time",
  happenedAt: "time",
  occurredAt: "time",
  addedOn: "day",
  inCurrentRoleSince: "day",
  date: "day",
  clinicalTrialPrimaryCompletionDate: "day",
  clinicalTrialStudyCompletionDate: "day",
  postedOn: "day",
  filingDate: "day",
  reportDate: "day",
};

const fieldsOf = (resource: string): readonly Field[] =>
  Object.entries(apiFields.resources[resource] ?? {}).map(([name, text]) => {
    const [type = "", ...marks] = text.split(" ");
    const kind = KIND_OF_NAME[name] ?? KIND_OF_TYPE[type];
    if (kind === undefined) throw new TypeError(`${resource}.${name} is a ${type}`);
    return { name, kind, required: marks.includes("required"), optIn: marks.includes("opt-in") };
  });

export const ACCOUNT = fieldsOf("Account");
export const CONTACT = fieldsOf("Contact");
export const SIGNAL = fieldsOf("Signal");
export const COMPANY = fieldsOf("Company (public)");
export const CALL = fieldsOf("Earnings call");
export const HISTORY_ITEM = fieldsOf("Usage records: Request history item");

export const OF_COMPANY = {
  "news-articles": fieldsOf("News article"),
  "job-openings": fieldsOf("Job opening"),
  "earnings-calls": CALL,
  filings: fieldsOf("Filing"),
} as const;
export type CompanyList = keyof typeof OF_COMPANY;
export const COMPANY_LISTS = ["news-articles", "job-openings", "earnings-calls", "filings"] as const;

const valuesOf = (enumeration: string) => {
  const [first = "", ...rest] = apiFields.enumerations[enumeration]?.split(", ") ?? [];
  return [first, ...rest] as const;
};
export const ACCOUNT_TYPES = valuesOf("Account.type");
export const SIGNAL_TYPES = valuesOf("Signal.type");
