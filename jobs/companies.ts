// Job companies: mirrors companies and their lists: news, openings, earnings calls, filings.
import { COMPANY_LISTS } from "../src/catalog/streams.ts";
import { familyJob } from "./family.ts";

export const companiesJob = familyJob("companies", ["companies", ...COMPANY_LISTS]);
