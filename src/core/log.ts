// The log: pino lines for people or machines; every finished line is scrubbed of secrets.
import pc from "picocolors";
import { type Logger, pino } from "pino";
import { z } from "zod";
import type { Scrubber } from "./secret.ts";
import { visible } from "./text/shown-text.ts";

export type { Logger } from "pino";

/** Destination of lines: stderr in the program, an array in tests. */
export interface LineTarget {
  write(text: string): void;
}

const LEVELS = { 10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal" } as const;
const COLOURS = { trace: "gray", debug: "blue", info: "green", warn: "yellow", error: "red", fatal: "red" } as const;
const lineSchema = z.looseObject({
  level: z.literal([10, 20, 30, 40, 50, 60]),
  time: z.string(),
  msg: z.string().default(""),
  err: z.looseObject({ stack: z.string() }).optional(),
});

/** A line for people: local time, level, message, fields; the stack of an error below. Its texts steer no terminal. */
const prettyLine = (json: string, colours: ReturnType<typeof pc.createColors>): string => {
  const parsed = lineSchema.safeParse(JSON.parse(json));
  if (!parsed.success) return visible(json);
  const { level, time, msg, err, ...fields } = parsed.data;
  const name = LEVELS[level];
  const more = Object.keys(fields).length === 0 ? "" : JSON.stringify(fields);
  const texts = [msg === "" ? "" : colours.cyan(visible(msg)), more === "" ? "" : colours.gray(visible(more))];
  const stack = err === undefined ? "" : visible(`\n${err.stack}`).replaceAll("\n", "\n    ");
  const said = texts.filter((text) => text !== "").join(" ");
  return `[${new Date(time).toTimeString().slice(0, 8)}] ${colours[COLOURS[name]](name.toUpperCase())}: ${said}${stack}\n`;
};

/**
 * A logger to `target`. It scrubs finished lines, because redacting named fields missed secrets in messages, stacks,
 * URLs and arrays.
 */
export const createLogger = (options: {
  readonly level: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  readonly format: "pretty" | "json";
  readonly colour: boolean;
  readonly scrubber: Scrubber;
  readonly target: LineTarget;
}): Logger => {
  const { level, format, colour, scrubber, target } = options;
  const colours = pc.createColors(colour);
  const line = {
    // JSON itself escapes only some control characters; escaping the others changes no value.
    write: (json: string) =>
      target.write(scrubber.scrub(format === "pretty" ? prettyLine(json, colours) : visible(json))),
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, line);
};
