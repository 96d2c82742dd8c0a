// Job usage: mirrors what was spent and what is left: usage, its breakdown, requests and limits.
import { familyJob } from "./family.ts";

export const usageJob = familyJob("usage", ["usage"]);
