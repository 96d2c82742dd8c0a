// `OpenList`: one list or record that a run reads. It holds the state (list/state.ts), which only `next` (list/next.ts) replaces, and a
// queue of events that wait until the list has decided on earlier ones.
import { type StreamSpec, streamSpec } from "../../../catalog/streams.ts";
import type { Effect, ListEvent } from "../../list/events.ts";
import { next } from "../../list/next.ts";
import type { ListState } from "../../list/state.ts";
import { type Candidate, stateKey } from "../../plan/candidate.ts";

/** An event that decides something; `go-on` without its facts, which are counted when it is its turn. */
export type Deciding = Exclude<ListEvent, { kind: "go-on" }> | { readonly kind: "go-on" };

export class OpenList {
  readonly candidate: Candidate;
  readonly stream: StreamSpec;
  readonly key: string;
  /** Events that wait for their turn, in order. */
  readonly #waiting: Deciding[] = [];
  #state: ListState;
  #deciding = false;

  constructor(candidate: Candidate, first: ListState) {
    this.candidate = candidate;
    this.stream = streamSpec(candidate.stream);
    this.key = stateKey(candidate.stream, candidate.scope);
    this.#state = first;
  }

  get state(): ListState {
    return this.#state;
  }

  get deciding(): boolean {
    return this.#deciding;
  }

  /** Replaces the state. Returns what is to be done about it. */
  transition(event: ListEvent): readonly Effect[] {
    const { state, effects } = next(this.#state, event);
    this.#state = state;
    return effects;
  }

  /** The event waits for its turn, which is the next one if it comes `first`. A list that waits to go on is not asked to twice. */
  enqueue(event: Deciding, first = false): void {
    if (first) this.#waiting.unshift(event);
    else if (event.kind !== "go-on" || !this.#waiting.some(({ kind }) => kind === "go-on")) this.#waiting.push(event);
  }

  /** Works through the events, one at a time: pages are committed together, and must not be decided about twice. */
  async drain(decide: (event: Deciding) => Promise<void>): Promise<void> {
    if (this.#deciding) return;
    this.#deciding = true;
    try {
      for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) await decide(event);
    } finally {
      this.#deciding = false;
    }
  }
}

/** Reads the lists of a run (read-list.ts). */
export interface ListReader {
  /** Lets a list decide about an event, after those that wait already. */
  apply(list: OpenList, event: Deciding): Promise<void>;
  /** Decides the next pages of a list, or ends it. Call it after every commit of its pages. */
  goOn(list: OpenList): Promise<void>;
  /** Lists that waited for the accounts look for their gone rows now. */
  resumeSearches(): Promise<void>;
}
