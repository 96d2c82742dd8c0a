// Whose form it is that a list was returned in after refusals.
import { expect, test } from "vitest";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { createFormTrials, isOneOfMany } from "../../../../src/sync/task/form-trials.ts";
import type { ScopeTask } from "../../../../src/sync/task/scope-task.ts";

type Kind = "list" | "record";
const taskOf = (name: string, scope: "organization" | "company", kind: Kind = "list") =>
  ({ stream: { name, scope }, progress: kind === "list" ? {} : null }) as unknown as ScopeTask;
const small = initialShape(50);

test("a list of the organization is the only one of its kind; records and lists of companies are some of many", () => {
  expect(isOneOfMany(taskOf("signals", "organization"))).toBe(false);
  expect(isOneOfMany(taskOf("signals", "organization", "record"))).toBe(true);
  expect(isOneOfMany(taskOf("filings", "company"))).toBe(true);
});

test("the first form that is returned is the stream's, and later ones are each list's own", () => {
  const trials = createFormTrials();
  const [first, second, third] = [1, 2, 3].map(() => taskOf("filings", "company")) as [ScopeTask, ScopeTask, ScopeTask];
  trials.try(first, small);
  expect(trials.of(first)).toBe(small);
  expect(trials.returned(first, small)).toBe("stream");
  expect(trials.of(first)).toBeUndefined();
  trials.try(second, small);
  expect(trials.returned(second, small)).toBe("own");
  expect(trials.of(second)).toBe(small);
  expect(trials.returned(third, initialShape(1000))).toBe("stream");
});

test("a record says nothing of the lists of its stream", () => {
  const trials = createFormTrials();
  trials.returned(taskOf("signals", "organization", "record"), small);
  const list = taskOf("signals", "organization");
  trials.try(list, small);
  expect(trials.returned(list, small)).toBe("stream");
});

test("other forms are tried for three lists in vain, for one once another was returned; who has begun may go on", () => {
  const trials = createFormTrials();
  const tasks = [1, 2, 3, 4, 5].map(() => taskOf("filings", "company"));
  for (const task of tasks.slice(0, 3)) {
    expect(trials.mayTry(task)).toBe(true);
    trials.try(task, small);
    trials.giveUp(task);
  }
  expect(trials.mayTry(tasks[3] as ScopeTask)).toBe(false);

  const others = createFormTrials();
  others.returned(tasks[0] as ScopeTask, small);
  others.try(tasks[1] as ScopeTask, small);
  others.try(tasks[2] as ScopeTask, small);
  others.giveUp(tasks[1] as ScopeTask);
  expect([2, 3].map((index) => others.mayTry(tasks[index] as ScopeTask))).toEqual([true, false]);
});
