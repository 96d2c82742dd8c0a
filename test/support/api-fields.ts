// Resources and enumerations as they were read from API.md: one text per field, such as `string required`.
import { readFileSync } from "node:fs";
import { z } from "zod";

const texts = z.record(z.string(), z.string());

export const apiFields = z
  .object({ resources: z.record(z.string(), texts), enumerations: texts })
  .parse(JSON.parse(readFileSync(new URL("./api-fields.json", import.meta.url), "utf8")));
