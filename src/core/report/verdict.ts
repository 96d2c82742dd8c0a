// The verdict on a mirror, in words: is it complete and current, will the credits last, and what to do next. One function for
// `status`, the HTTP API and the page, so that they never disagree. Pure.
import { counted, formatCount } from "../text/units.ts";
import { isoTime, minuteText } from "../time.ts";

/** A stream of the mirror, as far as it is asked for. Times are ms since the epoch. */
export interface JudgedStream {
  readonly stream: string;
  readonly complete: boolean;
  /** Lists and records of it that the last attempt failed to read. */
  readonly failed: number;
  /** Last comparison of the part that is furthest behind; null: never. */
  readonly oldestCheckAt: number | null;
  /** When that part becomes older than its maximum age; null: unknown. */
  readonly dueAt: number | null;
}

export interface Judged {
  readonly streams: readonly JudgedStream[];
  /** null: the service has reported none. */
  readonly credits: {
    readonly remaining: number;
    readonly resetsAt: number | null;
    readonly emptyOn: string | null;
  } | null;
  /** The last run; null: none yet. */
  readonly lastRun: {
    readonly status: string;
    readonly error: string | null;
    /** What a verification found; absent: not counted. */
    readonly differences?: number | null;
  } | null;
  /** When the next sync starts, where this process knows. */
  readonly nextSyncAt: number | null;
  readonly now: number;
}

export interface Verdict {
  /** `none`: there is no mirror yet. */
  readonly level: "good" | "warning" | "bad" | "none";
  /** Whole sentences; times in UTC. */
  readonly text: string;
  /** What to do next, one sentence; null: nothing. */
  readonly step: string | null;
}

/** Error of a verification that found differences; the run itself is done. */
const DIFFERS = "VERIFY_DIFFERS";

const at = (ms: number): string => minuteText(isoTime(ms));

const names = (streams: readonly JudgedStream[]): string => {
  const shown = streams.slice(0, 3).map(({ stream }) => stream);
  return streams.length > 3 ? `${shown.join(", ")} and ${streams.length - 3} more` : shown.join(", ");
};

/** Completeness and age in one sentence. */
const stateSentence = ({ streams, now }: Judged): string => {
  const open = streams.filter(({ complete }) => !complete);
  const times = streams.flatMap(({ oldestCheckAt }) => (oldestCheckAt === null ? [] : [oldestCheckAt]));
  const oldest = times.length === 0 ? null : Math.min(...times);
  const asOf = oldest === null ? "" : ` as of ${at(oldest)}`;
  if (open.length > 0) {
    return `${open.length} of ${counted(streams.length, "list")} ${open.length === 1 ? "is" : "are"} incomplete: ${names(open)}.`;
  }
  const old = streams.filter(({ dueAt }) => dueAt !== null && dueAt < now);
  return old.length === 0
    ? `Complete and current${asOf}.`
    : `Complete${asOf}, but older than configured: ${names(old)}.`;
};

const creditSentence = ({ credits, now }: Judged): string | null => {
  if (credits === null) return null;
  const { remaining, resetsAt, emptyOn } = credits;
  const isReset = resetsAt !== null && resetsAt <= now;
  if (isReset) return null;
  if (remaining <= 0) return `Out of credits${resetsAt === null ? "" : ` until ${at(resetsAt)}`}.`;
  const left = `${formatCount(remaining)} left`;
  if (emptyOn !== null) return `At this pace the credits end on ${emptyOn} (${left}).`;
  return resetsAt === null ? `Credits: ${left}.` : `Credits last until the reset on ${at(resetsAt)} (${left}).`;
};

const nextSentence = ({ nextSyncAt }: Judged): string | null =>
  nextSyncAt === null ? null : `Next sync ${at(nextSyncAt)}.`;

const failureSentence = ({ lastRun }: Judged): string | null => {
  if (lastRun?.status === "failed") return `The last run failed${lastRun.error === null ? "" : ` (${lastRun.error})`}.`;
  if (lastRun?.error === "CHECK_FAILED") return "Rows fail a check, so the mirror shows what was published before.";
  if (lastRun?.error === "CHECK_BROKEN") return "A check could not run.";
  if (lastRun?.error !== DIFFERS) return null;
  return `The last verification found ${lastRun.differences ? counted(lastRun.differences, "difference") : "differences"}.`;
};

const stepOf = (judged: Judged, isOut: boolean): string | null => {
  const { streams, lastRun, credits } = judged;
  const failed = streams.filter((stream) => stream.failed > 0);
  if (isOut) {
    const until = credits?.resetsAt ?? null;
    const then = until === null ? "Once there are credits" : "After the reset";
    return `${then}, the next sync goes on where it stopped; \`duckmirror plan\` shows what is missing.`;
  }
  if (failed.length > 0)
    return `\`duckmirror status\` names the failures of ${names(failed)}; the next sync tries again.`;
  if (lastRun?.status === "failed")
    return `The last run failed with ${lastRun.error ?? "an error"}: \`duckmirror check\` says whether the service answers.`;
  if (lastRun?.error?.startsWith("CHECK_"))
    return "`duckmirror check-data` shows the rows, or what is wrong with the check.";
  if (lastRun?.error === DIFFERS) return "`duckmirror verify --repair` corrects them.";
  if (streams.some(({ complete }) => !complete))
    return "The next sync reads what is missing; `duckmirror plan` shows its price.";
  return null;
};

/** The verdict on a mirror. */
export const verdictOf = (judged: Judged): Verdict => {
  const { streams, lastRun, credits, now } = judged;
  if (lastRun === null && streams.every(({ oldestCheckAt }) => oldestCheckAt === null)) {
    return {
      level: "none",
      text: "There is no mirror yet.",
      step: "`duckmirror sync` makes it; `duckmirror plan` shows its price.",
    };
  }
  const isOut = credits !== null && credits.remaining <= 0 && (credits.resetsAt === null || credits.resetsAt > now);
  const isKept = lastRun?.error === "CHECK_FAILED";
  const isFailed = isKept || lastRun?.status === "failed" || streams.some(({ failed }) => failed > 0);
  const isOpen = streams.some(({ complete, dueAt }) => !complete || (dueAt !== null && dueAt < now));
  const failure = failureSentence(judged);
  const credit = creditSentence(judged);
  const parts = isOut
    ? [credit, stateSentence(judged), failure, nextSentence(judged)]
    : [failure, stateSentence(judged), nextSentence(judged), credit];
  return {
    level: isFailed ? "bad" : isOpen || isOut || failure !== null || credits?.emptyOn != null ? "warning" : "good",
    text: parts.filter((part) => part !== null).join(" "),
    step: stepOf(judged, isOut),
  };
};
