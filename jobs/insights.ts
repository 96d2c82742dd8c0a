// Job insights: mirrors the insights of accounts.
import { familyJob } from "./family.ts";

export const insightsJob = familyJob("insights", ["account_insights"]);
