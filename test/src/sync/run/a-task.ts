// A task of a run that has sent nothing yet, for tests of decisions about tasks.

import { initialShape } from "../../../../src/sync/list/form.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { createTask, type ScopeTask } from "../../../../src/sync/task/scope-task.ts";

export const aCandidate = (more: Partial<Candidate> = {}): Candidate => ({
  ...{ stream: "accounts", scope: "", mode: "walk", overlap: false, because: "", requests: null, worth: 0 },
  ...more,
});

export const aTask = (more: Partial<Candidate> = {}): ScopeTask =>
  createTask({
    ...{ candidate: aCandidate(more), before: undefined, shape: initialShape(10), rows: 0, runId: "r", now: 0 },
  });

/** Gives a task pages to send, and pages under way. */
export const reading = (task: ScopeTask, ready: number, sent = 0): ScopeTask => {
  const reads = Array.from({ length: ready + sent }, (_, nth) => ({
    ...{ page: nth + 1, perPage: 10, role: "cover" },
  })) satisfies ScopeTask["ready"];
  task.ready = reads.slice(sent);
  task.inFlight = reads;
  return task;
};
