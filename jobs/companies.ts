// Job companies: mirrors companies and their news, openings, earnings calls and filings.
import { familyJob } from "./family.ts";

export const companiesJob = familyJob("companies", [
  "companies",
  "news_articles",
  "job_openings",
  "earnings_calls",
  "filings",
]);
