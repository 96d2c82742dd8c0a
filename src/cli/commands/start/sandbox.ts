// duckmirror sandbox: runs a generated service on this machine, to try duckmirror against. Runs until stopped.
import { once } from "node:events";
import { resolve } from "node:path";
import { setFlagsFromString } from "node:v8";
import { parse } from "yaml";
import { z } from "zod";
import { DuckmirrorError, detailOf, EXIT, hasSystemCode } from "../../../core/errors.ts";
import { readGiven } from "../../../core/files/given-files.ts";
import { type FaultProxyOptions, startFaultProxy } from "../../../sandbox/faults/proxy.ts";
import { isPlanName, PLANS } from "../../../sandbox/limits/credits.ts";
import { startSandbox } from "../../../sandbox/sandbox.ts";
import { choice, defineCommand, option, optionOf, usage } from "../../command.ts";

const number = (name: string, summary: string) =>
  optionOf(
    z
      .string()
      .regex(/^\d+(\.\d+)?$/, { error: `${name} must be a number` })
      .transform(Number)
      .optional(),
    { value: "<n>", summary },
  );

const inputSchema = z.object({
  accounts: number("--accounts", "tracked accounts; everything else grows with them (default: 40)"),
  seed: number("--seed", "the same seed and accounts give the same data (default: 1)"),
  plan: optionOf(z.string().refine(isPlanName).optional(), {
    value: "<plan>",
    summary: "rate limit and credits (default: pro)",
    adapt: (one) => one.choices(Object.keys(PLANS)),
  }),
  rate: number("--rate", "requests per minute instead of the plan's"),
  credits: number("--credits", "credits per month instead of the plan's"),
  tier: choice("<tier>", "access tier (default: full)", ["full", "public"]),
  host: optionOf(z.string().min(1).optional(), {
    value: "<address>",
    summary: "address to listen on (default: 127.0.0.1, this machine only)",
  }),
  port: number("--port", "port to listen on (default: any free one)"),
  token: optionOf(z.string().min(1, { error: "--token must not be empty" }).optional(), {
    value: "<token>",
    summary: "access token to expect (default: made from the seed)",
  }),
  tokenFile: option("<file>", "file that holds the access token to expect"),
  latency: option("<ms>", "time before each answer: 800 or 200-900"),
  evolve: number("--evolve", "changes per minute while it runs: new signals, promotions, departures, deletions"),
  maxPageSize: number("--max-page-size", "larger pages are refused (default: 100)"),
  keep: option("<dir>", "keep the generated data there and use it again"),
  faults: option("<file>", "cause the faults that a YAML or JSON file lists (example: docs/faults.yaml)"),
});
type Input = z.output<typeof inputSchema>;

/** The token: given directly, or in a file. */
const tokenOf = ({ token, tokenFile }: Input, cwd: string): string | undefined => {
  if (token !== undefined || tokenFile === undefined) return token;
  const path = resolve(cwd, tokenFile);
  try {
    return readGiven(path).trim();
  } catch (cause) {
    throw new DuckmirrorError("TOKEN_FILE_UNREADABLE", { file: path, detail: detailOf(cause) }, { cause });
  }
};

/** Given options by the sandbox's names. */
const optionsOf = (input: Input, cwd: string) => ({
  ...input,
  requestsPerMinute: input.rate,
  token: tokenOf(input, cwd),
  latencyMs: input.latency,
  maxPerPage: input.maxPageSize,
  dir: input.keep === undefined ? undefined : resolve(cwd, input.keep),
});

const portError = (cause: unknown, { port }: Input): unknown => {
  if (!hasSystemCode(cause, "EADDRINUSE")) return cause;
  return usage(`port ${port} is taken; leave --port out to use a free one`, cause);
};

const start = async (input: Input, cwd: string) => {
  try {
    return await startSandbox(optionsOf(input, cwd));
  } catch (cause) {
    throw portError(cause, input);
  }
};

/** Content of a fault file, not validated. YAML, which includes JSON. */
const readFaults = (path: string): unknown => {
  try {
    return parse(readGiven(path)) ?? {};
  } catch (cause) {
    throw new DuckmirrorError("CONFIG_FILE_UNREADABLE", { file: path, detail: detailOf(cause) }, { cause });
  }
};

/** The sandbox, or a fault proxy in front of it. */
const startWithFaults = async (input: Input, cwd: string, onFault: NonNullable<FaultProxyOptions["onFault"]>) => {
  if (input.faults === undefined) return start(input, cwd);
  const faults = readFaults(resolve(cwd, input.faults));
  const sandbox = await start({ ...input, port: undefined, host: undefined }, cwd);
  try {
    const { host, port } = input;
    const proxy = await startFaultProxy({ upstream: sandbox.url, faults, onFault, host, port });
    const close = async () => {
      await proxy.close();
      await sandbox.close();
    };
    return { url: proxy.url, token: sandbox.token, organizationId: sandbox.organizationId, close };
  } catch (error) {
    await sandbox.close();
    throw portError(error, input);
  }
};

export const command = defineCommand({
  examples: {
    "duckmirror sandbox": "prints two lines to paste into another terminal",
    "duckmirror sandbox --accounts 2000 --plan scale --evolve 30": "larger, slower, and changing while it runs",
    "duckmirror sandbox --accounts 5000 --keep big": "large: generated once, starts in a second from then on",
    "duckmirror sandbox --json --port 8080": "for scripts: one line with url and token",
    "duckmirror sandbox --faults faults.yaml": "a faulty service: broken connections, wrong answers, long waits",
  },
  input: inputSchema,
  run: async (input, { signal, cwd, show, hint }) => {
    // Generated rows wait in memory until all are there. Collecting garbage as often as in a sync would look at each of them
    // again and again; 0: as V8 does by itself.
    setFlagsFromString("--heap-growing-percent=0");
    hint("Generating data ...");
    const sandbox = await startWithFaults(input, cwd, ({ kind }, url) => hint(`fault ${kind} on ${url}`));
    try {
      const { url, token, organizationId } = sandbox;
      await show(
        { url, token, organization_id: organizationId, openapi: `${url}/openapi.json` },
        () => `export DUCKMIRROR_BASE_URL=${url}\nexport DUCKMIRROR_TOKEN=${token}`,
      );
      hint(`The service runs on ${url} (description: ${url}/openapi.json). Ctrl-C ends it.`);
      if (!signal.aborted) await once(signal, "abort");
    } finally {
      await sandbox.close();
    }
    return EXIT.done;
  },
});
