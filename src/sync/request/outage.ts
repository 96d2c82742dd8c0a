// Outage: final failures in a row, of each stream and of all requests of a run. It decides how often a request is tried
// while nothing answers, and when the service as a whole counts as failing, so that a run does not try every request six
// times. Three failures in a row without a connection end it at once. Free of input and output; one record per run.
//
// A sign of life (a response that is used, a record that does not exist, refused parameters) ends the row of its stream
// and that of the run. A stream alone never ends a run in which the service has answered: its other requests come after
// those of other streams, and in the end are tried once each, because each of them may succeed.
import type { LedgerStream } from "../../catalog/streams.ts";

/** Failures of a stream in a row after which it comes last, and after which its requests are tried once. */
const MANY_OF_STREAM = 3;
const MOST_OF_STREAM = 20;
/** Answers of a stream in a row that were paid and could not be used, after which each of its requests is paid once. */
const MANY_WASTED = 30;
/** Failures in a row without a connection after which the run ends. */
const MOST_UNREACHABLE = 3;
/**
 * Failures in a row, of whatever kind, after which all requests are tried once, and after which the run ends. They count
 * only if they are of several streams, or if nothing has answered in the run.
 */
const MANY = 3;
const MOST = 12;
const LEAST_STREAMS = 3;
/**
 * Answers in a row, over all requests, that were paid and cannot be used: after the first number, from several lists, requests
 * are sent one at a time and paid once; after the second, from several streams, the run ends.
 */
const DOUBTFUL_WASTED = 3;
const LEAST_LISTS = 2;
const MOST_WASTED = 6;

/** Reason to end the run. */
type OutageEnd = "unreachable" | "failing";

export interface Outage {
  /** The latest requests of the stream failed. */
  isFailing(stream: LedgerStream): boolean;
  /** Most attempts at a request of the stream; null: those of the retry policy. */
  attempts(stream: LedgerStream): number | null;
  /** Most paid attempts at a request of the stream; null: those of the retry policy. */
  paidAttempts(stream: LedgerStream): number | null;
  /** The latest answers of several lists were paid and cannot be used, so the next may be, too. */
  isDoubtful(): boolean;
  /** An answer of the stream was paid and cannot be used. The scope of the organization's own list is empty. */
  wasted(stream: LedgerStream, scope?: string): void;
  /** A request of the stream showed a sign of life. */
  alive(stream: LedgerStream): void;
  /** A request of the stream failed for good. Returns the reason to end the run, or null. */
  failed(stream: LedgerStream, why: "unreachable" | "refused"): OutageEnd | null;
}

/** Answers in a row, over all requests, that were paid and cannot be used. */
const createWaste = () => {
  const lists = new Set<string>();
  const streams = new Set<LedgerStream>();
  let answers = 0;
  const isDoubtful = () => answers >= DOUBTFUL_WASTED && lists.size >= LEAST_LISTS;
  return {
    isDoubtful,
    isEverywhere: (hasAnswered: boolean) =>
      isDoubtful() && answers >= MOST_WASTED && (!hasAnswered || streams.size >= LEAST_STREAMS),
    note: (stream: LedgerStream, scope: string) => {
      answers += 1;
      lists.add(`${stream} ${scope}`);
      streams.add(stream);
    },
    clear: () => {
      answers = 0;
      lists.clear();
      streams.clear();
    },
  };
};

export const createOutage = (): Outage => {
  const inARowOf = new Map<LedgerStream, number>();
  const wastedOf = new Map<LedgerStream, number>();
  const sinceAlive = new Set<LedgerStream>();
  const waste = createWaste();
  let inARow = 0;
  let unreachable = 0;
  let hasAnswered = false;
  const failuresOf = (stream: LedgerStream) => inARowOf.get(stream) ?? 0;
  const failsEverywhere = (times: number) => inARow >= times && (!hasAnswered || sinceAlive.size >= LEAST_STREAMS);

  return {
    isFailing: (stream) => failuresOf(stream) >= MANY_OF_STREAM,
    attempts: (stream) => (failsEverywhere(MANY) || failuresOf(stream) >= MOST_OF_STREAM ? 1 : null),
    paidAttempts: (stream) => (waste.isDoubtful() || (wastedOf.get(stream) ?? 0) >= MANY_WASTED ? 1 : null),
    isDoubtful: waste.isDoubtful,
    wasted: (stream, scope = "") => {
      wastedOf.set(stream, (wastedOf.get(stream) ?? 0) + 1);
      waste.note(stream, scope);
    },
    alive: (stream) => {
      inARowOf.delete(stream);
      wastedOf.delete(stream);
      sinceAlive.clear();
      waste.clear();
      inARow = 0;
      unreachable = 0;
      hasAnswered = true;
    },
    failed: (stream, why) => {
      inARowOf.set(stream, failuresOf(stream) + 1);
      sinceAlive.add(stream);
      inARow += 1;
      unreachable = why === "unreachable" ? unreachable + 1 : 0;
      if (unreachable >= MOST_UNREACHABLE) return "unreachable";
      return failsEverywhere(MOST) || waste.isEverywhere(hasAnswered) ? "failing" : null;
    },
  };
};
