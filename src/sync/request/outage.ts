// Outage detector of a run: counts failures in a row, per stream and over all requests. Decides how often a request is still tried while
// nothing answers, and when the service counts as down, which ends the run: after three failures in a row without a connection or an
// answer, unless they are all of one stream that hangs. One record per run, without input or output.
//
// Any useful answer (also a 404 for a record, or refused parameters) ends the count of its stream and of the run. One stream alone never
// ends a run in which the service has answered: its requests come last, and each is tried once.
import type { LedgerStream } from "../../catalog/streams.ts";

/** Failures of a stream in a row after which it comes last, and after which its requests are tried once. */
const MANY_OF_STREAM = 3;
const MOST_OF_STREAM = 20;
/** Answers of a stream in a row that were paid and could not be used, after which each of its requests is paid once. */
const MANY_WASTED = 30;
/** How a request failed: without a connection, without an answer over one, or with an answer. */
export type FailureSign = "unreachable" | "silent" | "refused";

/** Failures in a row without a connection, or of several streams without an answer, after which the run ends. */
const MOST_UNREACHABLE = 3;
/**
 * Failures in a row, of whatever kind, after which all requests are tried once, and after which the run ends. They count
 * only if they are of several streams, or if nothing has answered in the run.
 */
const MANY = 3;
const MOST = 12;
const LEAST_STREAMS = 3;
/** Lists of the organization, and companies, whose failures end a run in which the service has answered. */
const LEAST_SCOPES = 6;
/**
 * The same answer in a row that is paid and cannot be used: after the first number, to several requests, these are sent one
 * at a time and paid once; after the second, in several streams, the run ends.
 */
const DOUBTFUL_SAME = 3;
const LEAST_REQUESTS = 3;
const MOST_SAME = 6;

/** Reason to end the run. */
type OutageEnd = "unreachable" | "failing";

interface SameAnswer {
  /** Path and query of the request. */
  readonly url: string;
  /** Why it cannot be used. */
  readonly detail: string;
}

export type Outage = ReturnType<typeof createOutage>;

/** The same answer in a row: a gateway answers every request alike; a list that is broken, only its own. */
const createSameAnswers = () => {
  const requests = new Set<string>();
  const streams = new Set<LedgerStream>();
  let answers = 0;
  let latest: string | null = null;
  const clear = () => {
    requests.clear();
    streams.clear();
    answers = 0;
    latest = null;
  };
  return {
    clear,
    isDoubtful: () => answers >= DOUBTFUL_SAME && requests.size >= LEAST_REQUESTS,
    isEverywhere: (hasAnswered: boolean) =>
      answers >= MOST_SAME && requests.size >= LEAST_REQUESTS && (!hasAnswered || streams.size >= LEAST_STREAMS),
    note: (stream: LedgerStream, { url, detail }: SameAnswer) => {
      if (detail !== latest) clear();
      latest = detail;
      answers += 1;
      requests.add(url);
      streams.add(stream);
    },
  };
};

export const createOutage = () => {
  const inARowOf = new Map<LedgerStream, number>();
  const wastedOf = new Map<LedgerStream, number>();
  const sinceAlive = new Set<LedgerStream>();
  const scopesSinceAlive = new Set<string>();
  const same = createSameAnswers();
  let inARow = 0;
  let unreachable = 0;
  let hasAnswered = false;
  const failuresOf = (stream: LedgerStream) => inARowOf.get(stream) ?? 0;
  const failsEverywhere = (times: number) => inARow >= times && (!hasAnswered || sinceAlive.size >= LEAST_STREAMS);

  return {
    /** The latest requests of the stream failed. */
    isFailing: (stream: LedgerStream): boolean => (inARowOf.get(stream) ?? 0) >= MANY_OF_STREAM,
    /** Most attempts at a request of the stream, and most that may be paid; null: those of the retry policy. */
    attempts: (stream: LedgerStream): number | null =>
      failsEverywhere(MANY) || failuresOf(stream) >= MOST_OF_STREAM ? 1 : null,
    paidAttempts: (stream: LedgerStream): number | null =>
      same.isDoubtful() || (wastedOf.get(stream) ?? 0) >= MANY_WASTED ? 1 : null,
    /** Several requests got the same answer, paid and of no use, so the next one may get it, too. */
    isDoubtful: same.isDoubtful,
    /** An answer of the stream was paid and cannot be used. `answer`: the request and what it got; unset: the body broke off. */
    wasted: (stream: LedgerStream, answer?: SameAnswer): void => {
      wastedOf.set(stream, (wastedOf.get(stream) ?? 0) + 1);
      if (answer === undefined) same.clear();
      else same.note(stream, answer);
    },
    alive: (stream: LedgerStream): void => {
      inARowOf.delete(stream);
      wastedOf.delete(stream);
      sinceAlive.clear();
      scopesSinceAlive.clear();
      same.clear();
      inARow = 0;
      unreachable = 0;
      hasAnswered = true;
    },
    /** A request of the stream failed for good. Returns the reason to end the run, or null. */
    failed: (stream: LedgerStream, why: FailureSign, scope: string): OutageEnd | null => {
      inARowOf.set(stream, failuresOf(stream) + 1);
      sinceAlive.add(stream);
      scopesSinceAlive.add(scope === "" ? stream : scope);
      inARow += 1;
      unreachable = why === "refused" ? 0 : unreachable + 1;
      // One route may hang while the others answer: its failures alone do not keep the run from asking them.
      const isOneStream = why === "silent" && hasAnswered && sinceAlive.size === 1;
      if (unreachable >= (isOneStream ? MOST : MOST_UNREACHABLE)) return "unreachable";
      // A few companies that fail in each of their lists say nothing of the service.
      const isWide = !hasAnswered || scopesSinceAlive.size >= LEAST_SCOPES;
      return (failsEverywhere(MOST) && isWide) || same.isEverywhere(hasAnswered) ? "failing" : null;
    },
  };
};
