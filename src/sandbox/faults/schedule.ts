// Schedule: selects a fault for each request, from a validated file. The same file and requests give the same faults:
// random numbers depend on seed, URL and its number of repetitions, so concurrency changes nothing.
import { z } from "zod";
import { DuckmirrorError } from "../../core/errors.ts";
import { createRandom } from "../random.ts";
import { type Fault, faultSchema } from "./fault.ts";

const ruleSchema = z.strictObject({
  fault: faultSchema,
  /** Path to select; `*` matches one segment. Absent: any. */
  path: z.string().startsWith("/").optional(),
  /** Query parameters that must be present with these values. */
  query: z.record(z.string(), z.coerce.string()).default({}),
  /** Number of matching requests to skip first. */
  after: z.int().min(0).default(0),
  /** Number of matching requests to select after that; absent: all. */
  times: z.int().min(1).optional(),
  /** Whether `after` and `times` count all matching requests, or each URL separately. */
  each: z.enum(["request", "url"]).default("request"),
});

/** Faults that a retry overcomes: the default of the random mode. */
const PASSING: readonly (string | number)[] = [
  ...["reset-before", "reset-after", "reset-midway", "end-midway", "truncated-gzip", "cut-unframed", "short-length"],
  ...["empty-body", "html", "content-type", "invalid-json", "wrong-shape", "informational", "not-http", "duplicate"],
  ...[408, 425, 429, 500, 502, 503, 504],
];

const randomSchema = z.strictObject({
  /** Share of requests to select, 0 to 1. */
  rate: z.number().min(0).max(1),
  faults: z
    .array(faultSchema)
    .min(1)
    .prefault(() => [...PASSING]),
  /** Most consecutive faults for one URL. Below a client's number of attempts, every request finally succeeds. */
  in_a_row: z.int().min(1).default(2),
});

const scheduleSchema = z.strictObject({
  seed: z.int().default(1),
  /** Rules in order; the first one that selects the request applies. */
  rules: z.array(ruleSchema).default([]),
  random: randomSchema.optional(),
});

/** A fault file before validation. */
export type FaultFile = z.input<typeof scheduleSchema>;

/** The request to decide on. */
export interface Passing {
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
}

export interface Schedule {
  /** The fault for this request; null: none. Call once per request. */
  next(request: Passing): Fault | null;
}

type Rule = z.output<typeof ruleSchema>;

const matchesPath = (pattern: string, path: string): boolean => {
  const wanted = pattern.split("/");
  const parts = path.split("/");
  return wanted.length === parts.length && wanted.every((part, index) => part === "*" || part === parts[index]);
};

const matches = (rule: Rule, { path, query }: Passing): boolean => {
  if (rule.path !== undefined && !matchesPath(rule.path, path)) return false;
  const given = new URLSearchParams(query);
  return Object.entries(rule.query).every(([name, value]) => given.get(name) === value);
};

const createRule = (rule: Rule) => {
  const counts = new Map<string, number>();
  return (request: Passing): Fault | null => {
    if (!matches(rule, request)) return null;
    const key = rule.each === "url" ? `${request.path}?${request.query}` : "";
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const nth = count - rule.after;
    return nth >= 1 && (rule.times === undefined || nth <= rule.times) ? rule.fault : null;
  };
};

const createChance = (seed: number, { rate, faults, in_a_row }: z.output<typeof randomSchema>) => {
  const seen = new Map<string, { count: number; inRow: number }>();
  return ({ path, query }: Passing): Fault | null => {
    const url = `${path}?${query}`;
    const { count, inRow } = seen.get(url) ?? { count: 0, inRow: 0 };
    const random = createRandom(`${seed}/${url}/${count}`);
    const fault = inRow < in_a_row && random.chance(rate) ? random.pick(faults) : null;
    seen.set(url, { count: count + 1, inRow: fault === null ? 0 : inRow + 1 });
    return fault;
  };
};

/** Validates a fault file. Throws USAGE with the error. */
export const createSchedule = (written: unknown): Schedule => {
  const read = scheduleSchema.safeParse(written);
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue?.path.join(".") ?? "";
    throw new DuckmirrorError("USAGE", {
      detail: `faults: ${place === "" ? "" : `${place}: `}${issue?.message ?? ""}`,
    });
  }
  const { seed, rules, random } = read.data;
  const deciders = [...rules.map(createRule), ...(random === undefined ? [] : [createChance(seed, random)])];
  return {
    next: (request) => {
      for (const decide of deciders) {
        const fault = decide(request);
        if (fault !== null) return fault;
      }
      return null;
    },
  };
};
