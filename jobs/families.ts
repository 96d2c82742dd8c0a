// THE table of families: every stream belongs to exactly one, and each has a job of its own.
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

/** Jobs that these streams need. */
export const familiesOf = (streams: readonly StreamName[]): readonly FamilyJob[] =>
  FAMILIES.filter((family) => family.streams.some((stream) => streams.includes(stream)));

/** The job of a family's name. */
export const familyNamed = (name: string): FamilyJob | undefined => FAMILIES.find(({ family }) => family === name);

/** What is due in these families follows from what the others brought in; without that they cost no request. */
const FOLLOWERS: readonly FamilyJob[] = [companiesJob, insightsJob];

/** Streams of a sync that a further run must do: the open ones, and those that follow from what they bring in. */
export const openStreams = (all: readonly StreamName[], open: readonly StreamName[]): readonly StreamName[] =>
  open.length === 0
    ? []
    : all.filter((name) => open.includes(name) || FOLLOWERS.some(({ streams }) => streams.includes(name)));
