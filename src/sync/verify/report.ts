// The report of a verification: exactly the object that `verify --json` prints.

/** One request and what it showed. */
export interface CheckReport {
  /** `page`, `ids`, `signal-counts`, `filter`, `detail`, `company` or `insight`. */
  readonly check: string;
  readonly stream: string;
  /** Company, account or record looked at; empty for a list of the organization. */
  readonly scope: string;
  /** `skipped`: it showed nothing, `note` says why. */
  readonly status: "equal" | "differs" | "skipped" | "failed";
  /** Records that were compared. */
  readonly records: number;
  readonly credits: number;
  readonly note: string | null;
}

/** One place in which mirror and service differ. */
export interface Difference {
  readonly stream: string;
  /** Company; empty for the organization. */
  readonly scope: string;
  /**
   * `field`: a value. `missing`: the mirror lacks the record. `vanished`: the service no longer has it. `count`: the
   * number of rows; `field` then names what was counted, if it was not the whole list.
   */
  readonly kind: "field" | "missing" | "vanished" | "count";
  /** Id of the record; null for a count. */
  readonly key: string | null;
  readonly field: string | null;
  readonly mirror: string | null;
  readonly api: string | null;
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
  /** Checks that would have told more, and were not made for want of credits. */
  readonly checks_left: number;
  readonly differences: readonly Difference[];
}
