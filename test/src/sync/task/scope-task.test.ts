// A task that resumes: what it read is believed for a while, then the service is asked again.
import { expect, test } from "vitest";
import { initialShape } from "../../../../src/sync/list/form.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { walkingState } from "../../../../src/sync/task/scope-state.ts";
import { become, createTask, stepOf, takePage } from "../../../../src/sync/task/scope-task.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";

const T0 = Date.UTC(2026, 10, 22);
const MINUTE = 60_000;
const ids = ["3", "2", "1"];
const candidate = (mode: Candidate["mode"]): Candidate => ({
  stream: "accounts",
  scope: "",
  mode,
  overlap: false,
  because: "",
  requests: null,
  worth: 0,
});
const taskAt = (mode: Candidate["mode"], now: number, before?: ScopeState) =>
  createTask({ candidate: candidate(mode), before, shape: initialShape(10), rows: 0, runId: "r", now });

/** The state of a task that has read its whole list of three, and was cut off before its verdict. */
const readToTheEnd = (mode: Candidate["mode"]): ScopeState => {
  const task = taskAt(mode, T0);
  stepOf(task, 0, 4);
  const values = [T0 - 3, T0 - 2, T0 - 1].toReversed();
  takePage(task, { page: 1, perPage: 10, role: "cover", ids, rows: 3, values, total: 3 }, T0);
  return walkingState(task, "r");
};

test("soon after, a walk that read everything has its verdict without a request", () => {
  const task = taskAt("walk", T0 + 9 * MINUTE, readToTheEnd("walk"));
  expect(stepOf(task, 3, 4)).toMatchObject({ kind: "done", addsUp: true });
});

test("later, it asks for the end of the list once more, and reads on where the list has grown", () => {
  const task = taskAt("walk", T0 + 11 * MINUTE, readToTheEnd("walk"));
  const step = stepOf(task, 3, 4);
  expect(step).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "bridge" }] });
  const read = { page: 1, perPage: 10, role: "bridge", ids, rows: 3, values: [null, null, null], total: 3 } as const;
  takePage(task, read, T0 + 11 * MINUTE);
  expect(stepOf(task, 3, 4)).toMatchObject({ kind: "done", addsUp: true });
});

test("a read of changes that was at its end starts anew", () => {
  // The planner continues whatever was interrupted as a walk.
  const soon = taskAt("walk", T0 + MINUTE, readToTheEnd("watermark"));
  expect(soon.progress).toMatchObject({ kind: "watermark", pages: 1 });
  const late = taskAt("walk", T0 + 11 * MINUTE, readToTheEnd("watermark"));
  expect(late.progress).toMatchObject({ kind: "watermark", pages: 0 });
  expect(stepOf(late, 0, 4)).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "cover" }] });
});

test("a page that was archived at a kill joins as in its own run; in a later run the boundary is read again first", () => {
  const half = (page: number, ids: readonly string[]) =>
    ({ page, perPage: 2, role: "cover", ids, rows: 2, values: [null, null], total: 6 }) as const;
  const first = taskAt("walk", T0);
  takePage(first, half(1, ["6", "5"]), T0);
  const before = walkingState(first, "r");
  const options = { candidate: candidate("walk"), before, shape: initialShape(2), rows: 2, now: T0 };
  const recovered = createTask({ ...options, runId: "r", sameRun: true });
  takePage(recovered, half(2, ["4", "3"]), T0);
  expect(recovered.progress).toMatchObject({ coverage: { end: 4, waiting: [] } });
  const later = createTask({ ...options, runId: "s" });
  takePage(later, half(2, ["4", "3"]), T0);
  expect(later.progress).toMatchObject({ coverage: { fresh: false } });
});

test("a task changes its state only as drawn: what is finished stays so, what has failed fails again at most", () => {
  const states = ["active", "deleting", "finished", "failed"] as const;
  const allowed = states.flatMap((from) =>
    states.flatMap((to) => {
      const task = { ...taskAt("walk", T0), status: from };
      const changed = become(task, to);
      expect(task.status).toBe(changed ? to : from);
      return changed ? [`${from} ${to}`] : [];
    }),
  );
  expect(allowed).toEqual([
    "active deleting",
    "active finished",
    "active failed",
    "deleting finished",
    "deleting failed",
    "failed failed",
  ]);
});
