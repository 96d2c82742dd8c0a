// One sync of a trial, and what must hold of any: exit code, ledger, rate, time.
import type { Following } from "./expected.ts";
import type { ReadMirror } from "./mirror-contents.ts";
import type { MirrorRuns, SyncAsk, SyncEnd } from "./mirror-runs.ts";
import type { Chance } from "./random.ts";
import { announcesRate } from "./rate-window.ts";
import type { SecondServer } from "./service.ts";

export interface Trial {
  readonly server: SecondServer;
  readonly following: Following;
  readonly runs: MirrorRuns;
  readonly read: ReadMirror;
  readonly chance: Chance;
  readonly problems: string[];
  readonly story: string[];
  /** Rows may have changed while or after they were read, without a new date: only a walk shows that. */
  changedSilently: boolean;
  now(): number;
  advance(ms: number): void;
  setAhead(ms: number): void;
}

interface Step {
  readonly what: string;
  readonly ask: SyncAsk;
  /** Exit codes that the contract allows here. */
  readonly codes: readonly (number | null)[];
}

/** Requests that may have left before a refusal arrived, and arrive here after it was sent. */
const ON_THE_WIRE = 3;
/**
 * On the clock of a trial a refusal may take this long to be unpacked and read, while requests leave at the service's
 * rate.
 */
const READING_MS = 500;
/** Requests that may be too fast where headers tell the rate. */
const TOO_FAST = 3;
/** The same for windows of a second or less: on a busy machine the way to the service differs by more than they forgive. */
const TOO_FAST_IN_SHORT_WINDOWS = 6;
/**
 * The same for a service that counts refused requests too: after a run that filled its window, the time it names is too
 * early by each refusal, and every list under way believes it once before its waits grow.
 */
const TOO_FAST_WHERE_REFUSALS_COUNT = 8;
/** A run whose every request is refused ends after ten minutes. */
const ALL_REFUSED_MS = 700_000;

/** Does a refusal name a wait after which a bucket holds a token again? Its wait is a second. */
const namesWaitOf = ({ strangers, rate }: SecondServer["traits"]): boolean =>
  strangers.namesWait && (strangers.burst === null || rate.windowMs / rate.limit <= 1_000);

/**
 * Most requests of a sync that a limit on requests in flight, or on bursts below the announced rate, may refuse: the ones
 * that left together before the first refusal, and a share of the others, by which the limit is tried again: a larger one
 * where no refusal names a wait.
 */
const mostRefused = (requests: number, traits: SecondServer["traits"]): number =>
  12 + Math.ceil(requests / (namesWaitOf(traits) ? 5 : 2));

const spacingOf = ({ rate }: Trial["server"]["traits"]): number =>
  Math.max(rate.windowMs / rate.limit, 60_000 / rate.limit);

/** Longest time that the run may take by its own clock, ms: generous, so that only a wait without an end fails. */
const dueWithin = ({ server }: Trial, from: number, message: string): number => {
  const { rate, wire } = server.traits;
  const log = server.log.slice(from);
  const refused = log.filter(({ why, fault }) => why !== "" || fault !== "none").length;
  const patience = (message.startsWith("RATE_REFUSED") ? ALL_REFUSED_MS : 0) + refused * 64_000 + 300_000;
  return 1.5 * log.length * spacingOf(server.traits) + 2 * rate.windowMs + log.length * wire.latencyMs + patience;
};

/** What the report says of streams that are not complete. */
const openOf = ({ report }: SyncEnd): string => {
  const open = (report?.streams ?? []).filter(({ complete }) => !complete);
  return open.map(({ stream, reason, error }) => `[${stream}: ${error ?? reason}]`).join(" ");
};

/** Syncs, and notes what is wrong. */
export const sync = async (trial: Trial, { what, ask, codes }: Step): Promise<SyncEnd & { charged: number }> => {
  const { server, problems, story } = trial;
  const from = server.log.length;
  const chargedBefore = server.workspace.credits.charged();
  const startedAt = trial.now();
  const end = await trial.runs.sync(ask);
  const log = server.log.slice(from);
  const charged = server.workspace.credits.charged() - chargedBefore;
  const tookMs = trial.now() - startedAt;
  const tooFast = log.filter(({ why }) => why === "rate").length;
  story.push(
    `${what} ${JSON.stringify(ask)}: code ${end.code}, ${log.length} requests, ${charged} credits, ${tooFast} too fast, ${log.filter(({ why }) => why === "at-once").length}+${log.filter(({ why }) => why === "burst").length} at once, ${Math.round(tookMs / 1000)} s ${end.message} ${openOf(end)}`,
  );
  const wrong = (problem: string) => problems.push(`${what}: ${problem}`);
  if (!codes.includes(end.code)) wrong(`exit code ${end.code}, expected ${codes.join(" or ")}: ${end.message}`);
  if (end.report !== null) {
    const { spent, ambiguous } = end.report.credits;
    if (charged < spent || charged > spent + ambiguous) {
      wrong(`the service charged ${charged}, the report says ${spent} and ${ambiguous} unknown`);
    }
    if (ask.maxCredits !== undefined && charged > ask.maxCredits) wrong(`spent ${charged} of ${ask.maxCredits}`);
  }
  const { refusedCount, windowMs } = server.traits.rate;
  const mostWindow = windowMs <= 1_000 ? TOO_FAST_IN_SHORT_WINDOWS : TOO_FAST;
  const mostTooFast = refusedCount ? TOO_FAST_WHERE_REFUSALS_COUNT : mostWindow;
  if (announcesRate(server.traits) && tooFast > mostTooFast)
    wrong(`${tooFast} of ${log.length} requests were too fast`);
  const refusedOtherwise = log.filter(({ why }) => why === "at-once" || why === "burst").length;
  if (refusedOtherwise > mostRefused(log.length, server.traits))
    wrong(`${refusedOtherwise} of ${log.length} requests met another limit than the rate`);
  if (tookMs > dueWithin(trial, from, end.message)) wrong(`took ${Math.round(tookMs / 1000)} s`);
  const firstQuota = log.findIndex(({ why }) => why === "quota");
  const after = log.length - 1 - firstQuota;
  if (
    firstQuota !== -1 &&
    server.traits.credits.refusal !== "429-bare" &&
    after > (log[firstQuota]?.inFlight ?? 0) + ON_THE_WIRE + READING_MS / spacingOf(server.traits)
  ) {
    wrong(`${after} requests after the refusal for want of credits, ${log[firstQuota]?.inFlight} were under way`);
  }
  return { ...end, charged };
};
