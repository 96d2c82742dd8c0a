// THE table of families: every stream belongs to exactly one family, and each family has a job.
import type { StreamName } from "../src/catalog/streams.ts";
import { accountsJob } from "./accounts.ts";
import { companiesJob } from "./companies.ts";
import { contactsJob } from "./contacts.ts";
import type { FamilyJob } from "./family.ts";
import { insightsJob } from "./insights.ts";
import { signalsJob } from "./signals.ts";
import { usageJob } from "./usage.ts";

export const FAMILIES: readonly FamilyJob[] = [
  accountsJob,
  contactsJob,
  signalsJob,
  companiesJob,
  insightsJob,
  usageJob,
];

/** Jobs for these streams. */
export const familiesOf = (streams: readonly StreamName[]): readonly FamilyJob[] =>
  FAMILIES.filter((family) => family.streams.some((stream) => streams.includes(stream)));

/** The job of a family. */
export const familyNamed = (name: string): FamilyJob | undefined => FAMILIES.find(({ family }) => family === name);

/** Families whose due work depends on what the others load; without new rows they cost no request. */
const FOLLOWERS: readonly FamilyJob[] = [companiesJob, insightsJob];

/** Streams for a further run of a sync: the open ones, and those that depend on them. */
export const openStreams = (all: readonly StreamName[], open: readonly StreamName[]): readonly StreamName[] =>
  open.length === 0
    ? []
    : all.filter((name) => open.includes(name) || FOLLOWERS.some(({ streams }) => streams.includes(name)));
