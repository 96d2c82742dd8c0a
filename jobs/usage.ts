// Job usage: mirrors spent and remaining credits: usage, its breakdown, requests and limits.
import { familyJob } from "./family.ts";

export const usageJob = familyJob("usage", ["usage"]);
