// The views for analysts in schema `marts`; their statements are in sql/views.
/** Files of sql/views, each after those it reads from. */
export const VIEW_NAMES = [
  "score_history",
  "signal_timeline",
  "signals_daily",
  "contact_moves",
  "champion_alerts",
  "hiring_trend",
  "job_timeline",
  "funding_events",
  "earnings_calendar",
  "filing_timeline",
  "insight_items",
  "swot_items",
  "credit_burn",
  "usage_by_endpoint",
  "usage_by_key",
  "freshness",
  "data_quality",
  "account_360",
  "recent_changes",
] as const;

export type ViewName = (typeof VIEW_NAMES)[number];
