// The failure of a verification that lost its worker too often. BullMQ words it for any job.
import { type Problem, problemOf } from "../../../jobs/family.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { storedProblem } from "../asking/failures.ts";

/** `times`: how often it lost its worker. */
export const storedVerifyProblem = (failure: string, runId: string, times: number): Problem | null =>
  failure.startsWith("job stalled")
    ? problemOf(new DuckmirrorError("VERIFY_LOST", { run: runId, times }))
    : storedProblem(failure);
