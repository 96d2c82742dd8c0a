// Parsers for the text of settings: single values, lists, pairs, and kinds that several settings share. PURE.
// Messages do not repeat long values, because they may be a token pasted into the wrong setting.
import { z } from "zod";
import { jsonOrText } from "../json.ts";
import { didYouMean } from "../text/did-you-mean.ts";
import { parseDuration } from "../text/units.ts";

// Checks server keys that people choose: their length, and how hard they are to guess.

const LEAST_BITS = 48;

/** Bits of a text by the frequency of its characters: few for `aaaa…`, about 5.5 per character for Base64. */
const bitsOf = (text: string): number => {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => bits - count * Math.log2(count / text.length), 0);
};

/** The problem with a key; null: none. Never contains the key. */
export const keyProblem = (text: string): string | null => {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) return "a key has 16 or more characters and no spaces";
  return bitsOf(text) < LEAST_BITS ? "the key is easy to guess; take one from `openssl rand -hex 32`" : null;
};

export interface ListenAddress {
  /** Name or address, IPv6 without brackets. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** `127.0.0.1:8737`, `[::1]:0`, `localhost:8737`, or a port alone (this machine only); null for other texts. */
export const parseListen = (text: string): ListenAddress | null => {
  const match = /^(?:(\[[0-9a-f:.]+\]|[a-z0-9.-]+):)?(\d{1,5})$/i.exec(text.trim());
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) return null;
  return { host: (match[1] ?? "127.0.0.1").replace(/^\[|\]$/g, "").toLowerCase(), port };
};

/** True when a host, from `parseListen` or a URL, is this machine only. */
export const isLoopbackHost = (host: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, "").toLowerCase();
  return bare === "localhost" || bare.endsWith(".localhost") || bare === "::1" || /^127(\.\d{1,3}){3}$/.test(bare);
};

/** The address as shown in URLs and messages. */
export const listenText = ({ host, port }: ListenAddress): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** Longest value repeated in a message. */
const LONGEST_SHOWN = 40;
/** The value in the form for messages. */
export const shown = (value: unknown) => {
  const text = String(value);
  return text.length > LONGEST_SHOWN ? `a value of ${text.length} characters` : JSON.stringify(text);
};

/** What is wrong with a value, in a parser's own words, instead of "is not ...". */
export class Flaw {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}
export const flaw = (message: string) => new Flaw(message);

const scalar = z.union([z.string(), z.number(), z.boolean()], { error: "is a list or map, but one value is expected" });

/** One value inside a map, as text without the spaces around it. */
export const plainText = z.union([z.string(), z.number(), z.boolean()]).transform((value) => String(value).trim());
/** Texts separated by commas, or a list; without empty ones, each once. */
export const textList = z
  .union([z.array(plainText), plainText.transform((text) => text.split(","))])
  .transform((values) => [...new Set(values.map((value) => value.trim()).filter((value) => value !== ""))]);

/** One value. `parse` returns its meaning, or null if it is not `expected`. */
export const one = <T extends {}>(expected: string, parse: (text: string) => T | Flaw | null) =>
  scalar.transform((value, ctx): T => {
    const parsed = parse(String(value).trim());
    if (parsed !== null && !(parsed instanceof Flaw)) return parsed;
    ctx.addIssue({ code: "custom", message: parsed?.message ?? `${shown(value)} is not ${expected}` });
    return z.NEVER;
  });

/** Values separated by commas, or a list. Duplicates and empty ones are dropped. */
export const many = (parse: (text: string) => string | Flaw) =>
  z
    .union([z.array(scalar), scalar], { error: "is a map, but a list is expected" })
    .transform((value, ctx): readonly string[] => {
      const texts = (Array.isArray(value) ? value.map(String) : String(value).split(",")).map((text) => text.trim());
      const parsed = new Set<string>();
      for (const text of texts.filter((text) => text !== "")) {
        const item = parse(text);
        if (item instanceof Flaw) ctx.addIssue({ code: "custom", message: item.message });
        else parsed.add(item);
      }
      return [...parsed];
    });

/** The same, of which there must be one; `none` says what else to do. */
export const some = (parse: (text: string) => string | Flaw, none: string) =>
  many(parse).refine((values) => values.length > 0, none);

/** `name: value` pairs, or `name=value` separated by commas. */
export const pairs = (parse: (name: string, value: string) => number | Flaw) =>
  z
    .union([z.record(z.string(), scalar), z.string()], { error: "is a list, but a map is expected" })
    .transform((value, ctx): Readonly<Record<string, number>> => {
      const entries =
        typeof value === "string"
          ? value
              .split(",")
              .filter((pair) => pair.trim() !== "")
              .map((pair) => [pair.split("=")[0] ?? "", pair.split("=").slice(1).join("=")] as const)
          : Object.entries(value);
      const parsed: Record<string, number> = {};
      for (const [name, text] of entries) {
        const item = parse(name.trim(), String(text).trim());
        if (item instanceof Flaw) ctx.addIssue({ code: "custom", message: item.message });
        else parsed[name.trim()] = item;
      }
      return parsed;
    });

/** A structure in the file, or its JSON in the environment. Each problem says where in it. */
export const structure = <T extends z.ZodType>(schema: T) =>
  z.unknown().transform((value, ctx): z.output<T> => {
    const parsed = schema.safeParse(typeof value === "string" ? jsonOrText(value) : value);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) {
      ctx.addIssue({ code: "custom", message: path.length === 0 ? message : `${path.join(".")}: ${message}` });
    }
    return z.NEVER;
  });

/** A whole number from `least` to `most`; null for other texts. */
export const whole = (text: string, least: number, most = Number.MAX_SAFE_INTEGER) => {
  const value = /^\d[\d_]*$/.test(text) ? Number(text.replaceAll("_", "")) : Number.NaN;
  return Number.isSafeInteger(value) && value >= least && value <= most ? value : null;
};

export const choice = <const T extends string>(values: readonly T[]) =>
  one(`one of ${values.join(", ")}`, (text) => {
    const found = values.find((value) => value === text.toLowerCase());
    return found ?? flaw(`${shown(text)} is not one of ${values.join(", ")}.${didYouMean(text, values)}`);
  });

export const yesNo = one("yes or no", (text) => {
  if (/^(1|true|yes|on)$/i.test(text)) return { on: true };
  return /^(0|false|no|off)$/i.test(text) ? { on: false } : null;
}).transform((answer) => answer.on);

export const retentionDays = one("a whole number of days, or keep", (value) => {
  if (/^(keep|null|none)$/i.test(value)) return { days: null };
  const days = whole(value, 1, 36_500);
  return days === null ? null : { days };
}).transform((found): number | null => found.days);

export const duration = one("a duration like 90s, 12h or 7d", (text) => parseDuration(text));
/** A duration above zero; none: no limit. */
export const timeLimit = one("a duration like 90s, 15m or 2h, or none", (value) => {
  if (/^(none|null|off)$/i.test(value)) return { ms: null };
  const ms = parseDuration(value);
  return ms === null || ms === 0 ? null : { ms };
}).transform((found): number | null => found.ms);
export const text = one("a text", (value) => (value === "" ? null : value));

/** How many snapshots stay, the present one included, and for how long. */
export const keptSnapshots = pairs((name, value) => {
  if (name === "count") return whole(value, 1, 10_000) ?? flaw(`count: ${shown(value)} is not a whole number above 0`);
  if (name === "age") return parseDuration(value) ?? flaw(`age: ${shown(value)} is not a duration like 12h or 30d`);
  return flaw(`${shown(name)} is neither count nor age`);
})
  .transform(({ count = 1, age = null }) => ({ count, ageMs: age }))
  .prefault({});

// Setting `rate_limit`: requests per minute, or the name of a published plan.

/** Requests per minute of the documented plans (API.md, "Limits"). `enterprise` is custom: the service reports it. */
export const PLAN_RATES = { free: 10, build: 60, scale: 120, pro: 300 } as const;
const isPlan = (name: string): name is keyof typeof PLAN_RATES => Object.hasOwn(PLAN_RATES, name);

/** Requests per minute; null: as many as the service grants. */
export const rateLimit = one("a rate", (value) => {
  const name = value.toLowerCase();
  if (name === "auto" || name === "enterprise") return { perMinute: null };
  if (isPlan(name)) return { perMinute: PLAN_RATES[name] };
  const perMinute = /^\d+(\.\d+)?$/.test(name) ? Number(name) : Number.NaN;
  if (perMinute > 0 && perMinute <= 1_000_000) return { perMinute };
  const names = ["auto", ...Object.keys(PLAN_RATES), "enterprise"];
  return flaw(
    `${shown(value)} is neither requests per minute nor one of ${names.join(", ")}.${didYouMean(name, names)}`,
  );
}).transform((rate): number | null => rate.perMinute);
