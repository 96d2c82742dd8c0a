// The log: pino lines for people or machines; every finished line is scrubbed of secrets.
import { type Logger, pino } from "pino";
import { PinoPretty } from "pino-pretty";
import type { Scrubber } from "./secret.ts";
import { visible } from "./text/forms.ts";

export type { Logger } from "pino";

/** Destination of lines: stderr in the program, an array in tests. */
export interface LineTarget {
  write(text: string): void;
}

/** A line of JSON whose texts, once read, steer no terminal; an escaped backslash is no beginning of an escape. */
const steerless = (json: string): string =>
  visible(
    json.replace(/\\(?:\\|r(?!\\n)|u00(?:0[0-8bcef]|1[\da-f]))/gi, (found) =>
      found === "\\\\" ? found : `\\${found}`,
    ),
  );

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
  const pretty =
    format === "pretty"
      ? PinoPretty.prettyFactory({
          colorize: colour,
          ignore: "pid,hostname",
          translateTime: "SYS:HH:MM:ss",
          singleLine: true,
        })
      : null;
  const line = {
    // JSON itself escapes only some control characters; escaping the others changes no value.
    write: (json: string) =>
      target.write(scrubber.scrub(pretty === null ? visible(json) : (pretty(steerless(json)) ?? json))),
  };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, line);
};
