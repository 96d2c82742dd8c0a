// Job companies: mirrors companies and what is known of each: news, openings, earnings calls, filings.
import { familyJob } from "./family.ts";

export const companiesJob = familyJob("companies", [
  "companies",
  "news_articles",
  "job_openings",
  "earnings_calls",
  "filings",
]);
