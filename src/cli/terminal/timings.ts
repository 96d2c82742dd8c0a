// Prints the steps of a run (`sync --timings`): its spans as a chain, with a bar for each. It shows which part waits
// for which.
import type { Clock } from "../../core/clock.ts";
import type { Span, SpanStart, Tracer } from "../../core/tracing.ts";
import { renderTable, right } from "./table.ts";

/** Times in ms since `startedAt`. */
interface Step {
  readonly name: string;
  readonly depth: number;
  readonly from: number;
  to: number | null;
}

/** Steps of a long run beyond these are only counted. */
const SHOWN = 100;
const BAR = 40;

const bar = ({ from, to }: Step, end: number): string => {
  const at = (ms: number) => Math.min(BAR - 1, Math.floor((BAR * ms) / Math.max(1, end)));
  const [first, last] = [at(from), at(to ?? end)];
  return `${"·".repeat(first)}${"█".repeat(last - first + 1)}${"·".repeat(BAR - 1 - last)}`;
};

const ms = (value: number): string => value.toFixed(0);

/** One line per name: how often, how long together, and the longest. */
const sums = (steps: readonly Step[], end: number, columns: number): string => {
  const rows = [...new Set(steps.map(({ name }) => name))].map((name) => {
    const same = steps.filter((step) => step.name === name);
    const times = same.map(({ from, to }) => (to ?? end) - from);
    const sum = times.reduce((a, b) => a + b, 0);
    return [name, String(same.length), ms(sum), ms(times.reduce((a, b) => Math.max(a, b), 0))];
  });
  return renderTable([{ name: "step" }, right("times"), right("ms together"), right("longest")], rows, columns);
};

/** Records the spans of a run. `startedAt`: what counts as 0, ms since the epoch. */
export const createTimings = (clock: Clock, startedAt: number) => {
  const now = () => clock.now() - startedAt;
  const steps: Step[] = [];
  const recorded = (inner: Tracer, depth: number): Tracer => ({
    traceparent: inner.traceparent,
    start: (name, more) => started(inner, name, depth, more),
  });
  const started = (inner: Tracer, name: string, depth: number, more?: SpanStart): Span => {
    const span = inner.start(name, more);
    const step: Step = { name, depth, from: (more?.startedAt ?? clock.now()) - startedAt, to: null };
    steps.push(step);
    return {
      ...recorded(span, depth + 1),
      set: (attributes) => span.set(attributes),
      fail: (errorType) => span.fail(errorType),
      end: (at) => {
        step.to = (at ?? clock.now()) - startedAt;
        span.end(at);
      },
    };
  };
  return {
    /** A tracer that records, and passes on to another one. */
    around: (tracer: Tracer): Tracer => recorded(tracer, 0),
    /** The chain in the order of the steps' starts, and the sums. */
    render: (columns: number): string => {
      const end = now();
      const chain = steps.toSorted((a, b) => a.from - b.from);
      const rows = chain
        .slice(0, SHOWN)
        .map((step) => [
          `${"  ".repeat(step.depth)}${step.name}`,
          ms(step.from),
          ms((step.to ?? end) - step.from),
          bar(step, end),
        ]);
      const rest = chain.length > SHOWN ? `… and ${chain.length - SHOWN} more steps\n` : "";
      const header = [{ name: "step" }, right("from ms"), right("took ms"), { name: `0 to ${ms(end)} ms` }];
      return `${renderTable(header, rows, columns)}\n${rest}${sums(chain, end, columns)}\n`;
    },
  };
};
