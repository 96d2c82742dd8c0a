// State store: where the limiter and the ledger keep what their pure functions return. In memory for one process, in
// Redis for all processes of an organization; the functions decide, the store only keeps.

/** Something that must still hold when a change is written: the Redis key `key` has this value. */
export interface Fence {
  readonly key: string;
  readonly value: string;
}

export interface UpdateOptions {
  /** Ends waiting for a store that is away; the update rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The update rejects with FENCED, and changes nothing, where this does not hold any more. */
  readonly fence?: Fence | undefined;
}

/** What one step makes of the state; a step that returns the state it was given writes nothing. */
export interface Stepped<S, R> {
  readonly state: S;
  readonly result: R;
}

export interface StateStore<S> {
  /** Others change the state, too: what was read is soon out of date. */
  readonly shared: boolean;
  /**
   * Changes the state in one piece. `now` is the store's own clock, ms since the epoch: the same for every process,
   * whatever their machines' clocks say. `step` must be pure, for it runs again where somebody else was faster.
   * Rejects with REDIS_UNAVAILABLE or REDIS_FULL after a while of trying, with FENCED, and with the signal's reason.
   */
  update<R>(step: (state: S, now: number) => Stepped<S, R>, options?: UpdateOptions): Promise<R>;
}
