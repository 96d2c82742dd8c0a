// THE table of plans: requests per minute (API.md, "Limits") and credits per month (API.md shows only the free
// plan's).

interface Plan {
  readonly requestsPerMinute: number;
  readonly creditsPerMonth: number;
}

export const PLANS = {
  free: { requestsPerMinute: 10, creditsPerMonth: 100 },
  build: { requestsPerMinute: 60, creditsPerMonth: 5_000 },
  scale: { requestsPerMinute: 120, creditsPerMonth: 25_000 },
  pro: { requestsPerMinute: 300, creditsPerMonth: 100_000 },
  // Custom: high enough to have no effect unless an option changes it.
  enterprise: { requestsPerMinute: 100_000, creditsPerMonth: 10_000_000 },
} as const satisfies Record<string, Plan>;

export type PlanName = keyof typeof PLANS;

/** True when the text names a plan. */
export const isPlanName = (name: string): name is PlanName => Object.hasOwn(PLANS, name);
