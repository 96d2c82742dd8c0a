// How long a fetcher waits for what, ms.
import { FETCH_LOCK_MS, STALL_CHECK_MS } from "../names.ts";

export interface FetchTimes {
  /** Time without renewal after which a fetcher has lost its request to another one. */
  readonly lock: number;
  /** Interval of the check for lost requests. */
  readonly stalledCheck: number;
  /** Time after which a request counts as hanging and returns its slot. */
  readonly hanging: number;
  /** Time for which a request of an unknown profile is left to others before it is refused. */
  readonly strange: number;
  /** How long a request that only a program of another version reads is left for others, before it fails. */
  readonly unread: number;
}

export const TIMES: FetchTimes = {
  lock: FETCH_LOCK_MS,
  stalledCheck: STALL_CHECK_MS,
  hanging: 2_000,
  strange: 60_000,
  unread: 600_000,
};
