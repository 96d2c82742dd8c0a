// Measures src/core/json.ts, which keeps a stack, beside a writer of the same text that calls itself.
// Run: npx tsx bench/json-writer.ts. They take turns; medians of processor time per record, in µs.
import { ExactNumber, exactJson, isJsonObject, type JsonValue } from "../src/core/json.ts";

const ROUNDS = 21;
const TIMES = 5_000;

const member = ([name, value]: [string, JsonValue]): string => `${JSON.stringify(name)}:${recursive(value)}`;
const recursive = (value: JsonValue): string => {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof ExactNumber) return value.literal;
  if (typeof value !== "object" || value === null) return String(value);
  if (isJsonObject(value)) return `{${Object.entries(value).map(member).join(",")}}`;
  return `[${value.map(recursive).join(",")}]`;
};

/** Its id is beyond 2^53, which the engine's own writer refuses. */
const record: JsonValue = {
  id: 12_345_678_901_234_567_890n,
  headline: "Acme hires a chief information officer",
  relevance: Array.from({ length: 30 }, (_, at) => ({ reason: `key ${at}`, score: at, tags: ["x", "y"], own: true })),
};

const writers = [
  { name: "stack", write: exactJson, spent: [] as number[] },
  { name: "recursive", write: recursive, spent: [] as number[] },
];
for (let round = 0; round < ROUNDS; round++) {
  for (const { write, spent } of writers) {
    const before = process.cpuUsage();
    for (let time = 0; time < TIMES; time++) write(record);
    spent.push(process.cpuUsage(before).user / TIMES);
  }
}
if (exactJson(record) !== recursive(record)) throw new Error("the writers differ");
for (const { name, spent } of writers) {
  const median = spent.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
  process.stdout.write(`${name.padEnd(10)} ${median.toFixed(1)} µs for ${exactJson(record).length} characters\n`);
}
