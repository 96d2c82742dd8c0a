// A list of a run that has sent nothing yet, for tests of decisions about lists.
import { initialShape } from "../../../../src/sync/list/form.ts";
import { isActive, type ListState, openList } from "../../../../src/sync/list/state.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { OpenList } from "../../../../src/sync/run/state/open-list.ts";

export const aCandidate = (more: Partial<Candidate> = {}): Candidate => ({
  ...{ stream: "accounts", scope: "", mode: "walk", overlap: false, because: "", requests: null, worth: 0 },
  ...more,
});

const firstOf = (order: Candidate): ListState =>
  openList({ order, before: undefined, shape: initialShape(10), rows: 0, runId: "r", now: 0 });

export const aList = (more: Partial<Candidate> = {}): OpenList =>
  new OpenList(aCandidate(more), firstOf(aCandidate(more)));

/** A list with pages to send, and pages under way, after `pages` that were received. */
export const reading = (more: Partial<Candidate>, { unsent = 0, sent = 0, pages = 0 }): OpenList => {
  const state = firstOf(aCandidate(more));
  if (!isActive(state)) throw new TypeError("no list");
  const wanted = Array.from({ length: unsent + sent }, (_, nth) => ({
    ...{ page: nth + 1, perPage: 10, role: "cover" as const },
  }));
  return new OpenList(aCandidate(more), {
    ...state,
    reading: { ...state.reading, pages },
    requests: { wanted, unsent: wanted.slice(sent), uncommitted: 0 },
  });
};
