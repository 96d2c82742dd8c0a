// How a failure that a worker survives is logged: as a warning if the next attempt mends it, as an error if a person must.
import { DuckmirrorError, type ErrorCode } from "../errors.ts";

/** The next attempt or the next sync goes on from here, without anybody's help. */
const PASSING: readonly ErrorCode[] = [
  "QUOTA_SPENT",
  "BUDGET_SPENT",
  "BUDGET_REACHED",
  "DURATION_SPENT",
  "STREAMS_FAILED",
  "DELETE_PROBE_FAILED",
  "WALK_INCONCLUSIVE",
  "REQUEST_FAILED",
  "LIST_TOO_DEEP",
  "ROUTE_NOT_FOUND",
  "ROUTE_MISSING",
  "RATE_REFUSED",
  "RESPONSE_INVALID",
  "ANSWERS_UNUSABLE",
  "SERVICE_UNREACHABLE",
  "SERVICE_FAILING",
  "WRITER_BUSY",
  "REDIS_UNAVAILABLE",
  "FENCED",
  "INTERRUPTED",
];

/** BullMQ's codes of a job that is gone, or that another worker has by now. */
const TAKEN_AWAY: readonly unknown[] = [-1, -2, -6];

/** A job's error because Redis was emptied, or because the job was delivered again. */
export const isTakenAway = (error: unknown): boolean =>
  error instanceof Error && "code" in error && TAKEN_AWAY.includes(error.code);

/** `code`: of the failure, e.g. from a report. */
export const levelOfCode = (code: string): "warn" | "error" =>
  PASSING.some((passing) => passing === code) ? "warn" : "error";

export const levelOf = (error: unknown): "warn" | "error" =>
  isTakenAway(error) ? "warn" : levelOfCode(error instanceof DuckmirrorError ? error.code : "UNEXPECTED");
