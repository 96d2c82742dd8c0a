// Names the parts of the stream `usage` that are read apart: the quota with its breakdowns, the contracted limits, the request history.
// Pure.
/** Scope of the quota, with the first breakdown. */
export const QUOTA_SCOPE = "usage";
export const LIMITS_SCOPE = "limits";
export const HISTORY_SCOPE = "requests";
/** Prefix of a scope that is a further breakdown. */
const BREAKDOWN_SCOPE = "usage:";

interface UsageOptions {
  /** Days of the request history; 0: none. */
  readonly historyDays: number;
  /** Values of `groupBy`. */
  readonly breakdowns: readonly string[];
}

/** What of the usage routes is read. */
export interface UsageChoice {
  readonly usage: UsageOptions;
}

/** Scopes of the stream. The quota is read last (run/backlog.ts), so that it counts the others. */
export const usageScopes = ({ usage }: UsageChoice): readonly string[] => [
  QUOTA_SCOPE,
  ...usage.breakdowns.slice(1).map((name) => `${BREAKDOWN_SCOPE}${name}`),
  LIMITS_SCOPE,
  ...(usage.historyDays > 0 ? [HISTORY_SCOPE] : []),
];

/** `groupBy` of a scope; undefined: no breakdown. */
export const breakdownOf = (scope: string, { usage }: UsageChoice): string | undefined =>
  scope.startsWith(BREAKDOWN_SCOPE) ? scope.slice(BREAKDOWN_SCOPE.length) : usage.breakdowns[0];
