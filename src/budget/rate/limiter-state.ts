// State of the rate limiter. limiter.ts decides with it; the stores keep it. Pure.
import { FASTEST_PLAN } from "./plans.ts";
import type { Rate } from "./rate.ts";
import type { Tally } from "./tallies.ts";
import type { UsageWatch } from "./usage-watch.ts";

export interface LimiterState {
  /** Requests per minute set by the user; null: use the service's limit. */
  readonly configured: number | null;
  /** The slowest limit in the service's headers. */
  readonly learned: Rate | null;
  /** Further limits in the headers. */
  readonly also: readonly Rate[];
  /** Requests per minute while neither is known. */
  readonly assumed: number;
  /** Slot of the latest request, ms since the epoch; the next slot follows after one spacing at the rate in force. */
  readonly slot: number;
  /** Requests of the latest window, oldest first. */
  readonly sent: readonly Tally[];
  /** No request before this time, after Retry-After or a refusal. */
  readonly blockedUntil: number;
  /** Requests that the service still accepts before `refilledAt`, minus those in flight; null: pacing suffices. */
  readonly spare: number | null;
  readonly refilledAt: number;
  /** When the request was sent that asks what is left after a reset; null: none has. */
  readonly askedAt: number | null;
  readonly slowedAt: number;
  /** When a refusal last lowered the assumed rate. */
  readonly steppedAt: number;
  /** The assumed rate before refusals that it does not explain; null: none lowered it. */
  readonly loweredFrom: number | null;
  /** The rate that was assumed again after such refusals; null: none. */
  readonly retried: number | null;
  /**
   * Without a configured rate the first request is sent alone, until its headers are known or this time has passed.
   */
  readonly aloneUntil: number;
  readonly started: boolean;
  /** Findings from the service's own counts; null: none yet. */
  readonly watch: UsageWatch | null;
  /** Shortest time from a request to its response, ms. */
  readonly fastestMs: number | null;
  /** Time when the request of the latest applied response was sent; older responses are ignored. */
  readonly heardUpTo: number;
  /** Rate refusals (requests sent together count once), and the end of the caution they cause. */
  readonly refusals: number;
  readonly calmUntil: number;
}

export const startLimiter = (configured: number | null): LimiterState => ({
  configured,
  learned: null,
  also: [],
  assumed: FASTEST_PLAN,
  slot: -Infinity,
  sent: [],
  blockedUntil: -Infinity,
  spare: null,
  refilledAt: -Infinity,
  askedAt: null,
  slowedAt: -Infinity,
  steppedAt: -Infinity,
  loweredFrom: null,
  retried: null,
  aloneUntil: -Infinity,
  started: false,
  watch: null,
  fastestMs: null,
  heardUpTo: -Infinity,
  refusals: 0,
  calmUntil: -Infinity,
});
