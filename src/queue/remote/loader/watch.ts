// Checks what a loader sent: finds requests and responses that Redis lost, restores the epoch after a loss, and
// detects another loader's take-over. Without it the loader would wait for a lost job for ever.
import type { Queue } from "bullmq";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { errorOf } from "../../asking/asks.ts";
import { storedProblem } from "../../asking/failures.ts";
import type { Mailbox } from "../mailbox.ts";
import { type Arrivals, deliveriesOf } from "./arrivals.ts";
import { vanished } from "./outstanding.ts";
import type { RemoteSender } from "./remote-sender.ts";

/** Younger requests are not checked, ms. */
const YOUNG_MS = 1_500;
/** Time limit for a fetcher that has a request which Redis lost and may still deliver its response, ms. */
const GRACE_MS = 10_000;

export interface WatchDeps {
  readonly clock: Clock;
  readonly queue: {
    readonly getJobState: Queue["getJobState"];
    getJob(id: string): Promise<{ readonly failedReason: string } | undefined>;
  };
  readonly mailbox: Pick<Mailbox, "epoch" | "deliveries">;
  readonly sender: Pick<RemoteSender, "pending">;
  readonly arrivals: Arrivals;
  readonly epoch: string;
  /** Claims mailbox and fence for this epoch, if they are unclaimed. */
  readonly claim: () => Promise<void>;
}

export interface Watch {
  /** Checks once. Rejects with Redis's errors; the next check repeats it. */
  check(): Promise<void>;
}

/** Reason why no fetcher takes a request, from the failed job. */
const refusal = (reason: string): DuckmirrorError => {
  const failure = storedProblem(reason);
  const detail = failure?.message ?? "a fetcher could not take the request";
  if (failure === null || failure.code === "UNEXPECTED") return new DuckmirrorError("UNEXPECTED", { detail });
  if (failure.code === "PROFILE_UNKNOWN") {
    const which = "a profile that no fetcher has with the same address and token";
    return new DuckmirrorError("PROFILE_UNKNOWN", { which, detail: "both must be the same on all machines" });
  }
  return failure.code === "JOB_VERSION" ? errorOf(failure) : new DuckmirrorError("FETCHER_REFUSED", { detail });
};

export const createWatch = (deps: WatchDeps): Watch => {
  const { clock, queue, mailbox, sender, arrivals, epoch, claim } = deps;
  /** Requests unknown to Redis, and since when, ms since the epoch. */
  const missing = new Map<string, number>();

  const checkMissing = async (requestId: string, since: number): Promise<void> => {
    const waiting = sender.pending().get(requestId);
    const state = await queue.getJobState(requestId);
    if (waiting === undefined) return;
    if (state === "failed") {
      const job = await queue.getJob(requestId);
      waiting.resolve({ kind: "denied", error: refusal(job?.failedReason ?? "") });
    } else if (state !== "unknown") {
      missing.delete(requestId);
    } else if (clock.now() - since > GRACE_MS) {
      missing.delete(requestId);
      waiting.resolve(vanished(waiting, clock.now()));
    }
  };

  return {
    check: async () => {
      const old = [...sender.pending().values()].filter(({ since }) => clock.now() - since > YOUNG_MS);
      const holder = await mailbox.epoch();
      if (holder === null) await claim();
      else if (holder !== epoch) {
        for (const waiting of [...sender.pending().values()]) {
          waiting.resolve({ kind: "denied", error: new DuckmirrorError("FENCED") });
        }
        return;
      }
      if (old.length === 0) return;
      // The announcement of a response may be lost while the response is not.
      const deliveries = await mailbox.deliveries();
      for (const { request } of old) {
        const here = deliveriesOf(request.requestId, deliveries);
        const [first] = here.filter((delivery) => !arrivals.underWay().has(delivery));
        if (first !== undefined) {
          void arrivals.arrive(first).catch(() => undefined);
        } else if (here.length === 0) {
          const since = missing.get(request.requestId) ?? clock.now();
          missing.set(request.requestId, since);
          await checkMissing(request.requestId, since);
        }
      }
      for (const requestId of missing.keys()) if (!sender.pending().has(requestId)) missing.delete(requestId);
    },
  };
};
