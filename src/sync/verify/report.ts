// Report of a verification: the object printed by `verify --json`.

/** One request and its result. */
export interface CheckReport {
  /** `page`, `parts`, `signal-counts`, `detail`, `company` or `insight`. */
  readonly check: string;
  readonly stream: string;
  /** Checked company, account or record; empty for a list of the organization. */
  readonly scope: string;
  /** `newer`: all of its differences are. `skipped`: no result; `note` gives the reason. */
  readonly status: "equal" | "newer" | "differs" | "skipped" | "failed";
  /** Number of compared records. */
  readonly records: number;
  readonly credits: number;
  readonly note: string | null;
}

/** One difference between mirror and service. */
export interface Difference {
  readonly stream: string;
  /** Company; empty for the organization. */
  readonly scope: string;
  /**
   * `field`: a value. `missing`: the mirror lacks the record. `vanished`: the service no longer has it. `count`: the
   * number of rows; `field` then names the counted value or range of days, unless it is the whole list.
   */
  readonly kind: "field" | "missing" | "vanished" | "count";
  /** Id of the record; null for a count. */
  readonly key: string | null;
  readonly field: string | null;
  readonly mirror: string | null;
  readonly api: string | null;
  /** `newer`: the service has changed since the mirror read it, so the next read loads it. `wrong`: nothing proves that. */
  readonly verdict: "newer" | "wrong";
  readonly repaired: boolean;
}

export interface VerifyReport {
  readonly run_id: string;
  readonly credits: {
    readonly spent: number;
    readonly remaining: number | null;
    readonly limit: number | null;
    readonly resets_at: string | null;
  };
  readonly checks: readonly CheckReport[];
  /** Number of checks not made for lack of credits. */
  readonly checks_left: number;
  readonly differences: readonly Difference[];
}
