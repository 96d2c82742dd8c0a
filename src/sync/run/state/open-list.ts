// A list, or a record, that a run reads: holds its state, which only `next` replaces, and the events that wait for their turn.
import { type StreamSpec, streamSpec } from "../../../catalog/streams.ts";
import type { Effect, ListEvent } from "../../list/events.ts";
import { next } from "../../list/next.ts";
import type { ListState } from "../../list/state.ts";
import { type Candidate, stateKey } from "../../plan/candidate.ts";

/** An event that decides something; `go-on` without its facts, which are counted when it is its turn. */
export type Deciding = Exclude<ListEvent, { kind: "go-on" }> | { readonly kind: "go-on" };

export interface OpenList {
  readonly candidate: Candidate;
  readonly stream: StreamSpec;
  readonly key: string;
  readonly state: ListState;
  /** Replaces the state. Returns what is to be done about it. */
  tell(event: ListEvent): readonly Effect[];
  /** Events that wait for their turn, in order. Two `go-on` are one. */
  readonly waiting: Deciding[];
  /** Works through them, one at a time: pages are committed together, and must not be decided about twice. */
  drain(decide: (event: Deciding) => Promise<void>): Promise<void>;
  readonly deciding: boolean;
}

/** Reads the lists of a run (read-list.ts). */
export interface ListReader {
  /** Lets a list decide about an event, after those that wait already. */
  apply(list: OpenList, event: Deciding): Promise<void>;
  /** Decides the next pages of a list, or ends it. Call it after every commit of its pages. */
  goOn(list: OpenList): Promise<void>;
  /** Lists that waited for the accounts look for their gone rows now. */
  searchOn(): Promise<void>;
}

export const createOpenList = (candidate: Candidate, first: ListState): OpenList => {
  let state = first;
  let deciding = false;
  const waiting: Deciding[] = [];
  return {
    candidate,
    stream: streamSpec(candidate.stream),
    key: stateKey(candidate.stream, candidate.scope),
    get state() {
      return state;
    },
    get deciding() {
      return deciding;
    },
    tell: (event) => {
      const transition = next(state, event);
      state = transition.state;
      return transition.effects;
    },
    waiting,
    drain: async (decide) => {
      if (deciding) return;
      deciding = true;
      try {
        for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) await decide(event);
      } finally {
        deciding = false;
      }
    },
  };
};
