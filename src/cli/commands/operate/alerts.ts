// duckmirror alerts: shows the alert rules, sends what they found, tries one out, sends dead letters again.
import { z } from "zod";
import {
  type AlertState,
  alertsJob,
  backtestAlert,
  listAlerts,
  replayAlert,
  testAlert,
} from "../../../../jobs/alerts.ts";
import type { RulePass } from "../../../alerts/run-rule.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { counted, formatCount } from "../../../core/text/units.ts";
import { isoTime, momentBefore } from "../../../core/time.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { problemJson } from "../../problem.ts";
import { renderTable, right } from "../../terminal/table.ts";

const ACTIONS = ["list", "send", "test", "replay"] as const;

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  after: z
    .string()
    .regex(/^\d{1,15}$/, { error: "is no number of a change" })
    .transform(Number)
    .optional(),
  since: z.string().optional(),
});
type Input = z.output<typeof inputSchema>;

/** Contract of `alerts list --json`. */
const stateJson = ({ rule, position, waiting, dead }: AlertState) => ({
  name: rule.name,
  event: rule.event,
  after: position.after,
  active: Object.entries(position.active).map(([key, { since }]) => ({ key, since })),
  off: position.off,
  problem: position.problem,
  sent: position.sent,
  waiting: waiting.length,
  next_attempt_at:
    waiting[0] === undefined || waiting[0].message.nextAt === 0 ? null : isoTime(waiting[0].message.nextAt),
  error: waiting[0]?.message.error ?? null,
  dead: dead.map(({ message }) => ({
    id: message.id,
    made_at: isoTime(message.madeAt),
    events: message.body.data.events.length,
    attempts: message.attempts,
    error: message.error,
  })),
});

const stateText = ({ position, waiting, dead }: AlertState): string => {
  if (position.off !== null) return `off: the receiver answered 410 at ${position.off.at}`;
  const why = position.problem?.message ?? waiting[0]?.message.error ?? dead.at(-1)?.message.error;
  return why ?? Object.keys(position.active).join(", ");
};

const list = async (names: readonly string[], context: CommandContext): Promise<number> => {
  const states = await listAlerts(await context.loadConfig(), names);
  if (context.shared.json) await context.printJson({ alerts: states.map(stateJson) });
  else {
    const columns = [
      { name: "rule" },
      { name: "event" },
      right("change"),
      right("sent"),
      right("waiting"),
      right("dead"),
      { name: "state" },
    ];
    const rows = states.map((state) => [
      state.rule.name,
      state.rule.event,
      state.position.after === null ? "" : formatCount(state.position.after),
      formatCount(state.position.sent),
      formatCount(state.waiting.length),
      formatCount(state.dead.length),
      stateText(state),
    ]);
    await context.terminal.out(`${renderTable(columns, rows, context.terminal.columns)}\n`);
  }
  return EXIT.done;
};

const passJson = ({ name, sent, dead, waiting, nextAt, error }: RulePass, { scrubber }: CommandContext) => ({
  name,
  sent,
  dead,
  waiting,
  next_attempt_at: nextAt === null ? null : isoTime(nextAt),
  ...(error === null ? {} : problemJson(error, scrubber)),
});

const failureOf = (passes: readonly RulePass[]): DuckmirrorError | null => {
  const failed = passes.filter(({ error }) => error !== null);
  if (passes.length === 1 || failed.length === 0) return failed[0]?.error ?? null;
  return new DuckmirrorError("ALERTS_FAILED", { names: failed.map(({ name }) => name).join(", ") });
};

const showPasses = async (passes: readonly RulePass[], context: CommandContext): Promise<number> => {
  const { shared, terminal } = context;
  if (shared.json) await context.printJson({ alerts: passes.map((pass) => passJson(pass, context)) });
  else {
    const columns = [{ name: "rule" }, right("sent"), right("waiting"), right("dead")];
    const rows = passes.map(({ name, sent, waiting, dead }) => [name, ...[sent, waiting, dead].map(formatCount)]);
    await terminal.out(`${renderTable(columns, rows, terminal.columns)}\n`);
  }
  for (const { error } of passes) if (error !== null) context.printProblem(error);
  return failureOf(passes)?.exitCode ?? EXIT.done;
};

const tryOut = async (name: string, context: CommandContext): Promise<number> => {
  const { clock, signal, shared, terminal, scrubber } = context;
  const config = await context.loadConfig();
  const { found, taken, error } = await testAlert(config, name, { clock, signal, random: Math.random });
  const events = found.map(({ id: _, ...event }) => event);
  if (shared.json) {
    await context.printJson({ found: events, taken, ...(error === null ? {} : problemJson(error, scrubber)) });
  } else {
    const lines = events.slice(0, 20).map(({ n, row }) => `${n === undefined ? "" : `${n} `}${JSON.stringify(row)}`);
    const receiver = taken ? "The receiver took a test message." : "The receiver did not take the test message.";
    await terminal.out([`${counted(found.length, "event")} found.`, ...lines, receiver, ""].join("\n"));
  }
  if (error !== null) context.printProblem(error);
  return error?.exitCode ?? EXIT.done;
};

/** `alerts test NAME --since 90d`: when the rule would have sent what. */
const lookBack = async (name: string, since: string, context: CommandContext): Promise<number> => {
  const { clock, signal, shared, terminal } = context;
  const from = momentBefore("--since", since, clock.now());
  const config = await context.loadConfig();
  const found = await backtestAlert(config, { name, since: from }, { clock, signal, random: Math.random });
  const events = found.map(({ id: _, ...event }) => event);
  if (shared.json) await context.printJson({ since: isoTime(from), found: events });
  else {
    const lines = events.map(({ at, type, row }) => `${at} ${type} ${JSON.stringify(row)}`);
    await terminal.out([`${counted(events.length, "event")} since ${isoTime(from)}.`, ...lines, ""].join("\n"));
  }
  return EXIT.done;
};

const only = (names: readonly string[], action: string): string => {
  const [name, ...more] = names;
  if (name !== undefined && more.length === 0) return name;
  throw new DuckmirrorError("USAGE", { detail: `alerts ${action} needs the name of one rule` });
};

const run = async ({ args, after, since }: Input, context: CommandContext): Promise<number> => {
  const [word = "list", ...names] = args;
  const action = ACTIONS.find((known) => known === word);
  if (action === undefined) throw new DuckmirrorError("USAGE", { detail: `"${word}" is not ${ACTIONS.join(", ")}` });
  if (after !== undefined && action !== "replay") {
    throw new DuckmirrorError("USAGE", { detail: "--after belongs to `alerts replay`" });
  }
  if (since !== undefined) {
    if (action !== "test") throw new DuckmirrorError("USAGE", { detail: "--since belongs to `alerts test`" });
    return lookBack(only(names, "test"), since, context);
  }
  if (action === "list") return list(names, context);
  const { clock, signal } = context;
  const config = await context.loadConfig();
  const deed = { action: "alert", subject: [action, ...names].join(" ") } as const;
  if (action === "test")
    return audited(
      config,
      context,
      deed,
      () => tryOut(only(names, "test"), context),
      () => ({}),
    );
  const using = { clock, signal, random: Math.random };
  const work = async (): Promise<readonly RulePass[]> =>
    action === "send"
      ? alertsJob(config, names, using)
      : [await replayAlert(config, { name: only(names, "replay"), after: after ?? null }, using)];
  const passes = await audited(config, context, deed, work, (all) => ({ outcome: failureOf(all)?.code ?? "ok" }));
  return showPasses(passes, context);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[action]", "list (default), send, test or replay")
      .argument("[name...]", "rules; test and replay: one (default: all)")
      .option("--since <when>", "with test: when the rule would have sent what since then, e.g. 90d; sends nothing")
      .option("--after <n>", "with replay: evaluate the changes behind this number again"),
  examples: {
    "duckmirror alerts": "the rules: how far each has come, what waits, what was given up",
    "duckmirror alerts test funding": "what the rule would find now, and one test message to its receiver",
    "duckmirror alerts test funding --since 90d": "when it would have sent what; sends nothing",
    "duckmirror alerts send": "evaluate every rule once and send; the worker does it by itself",
    "duckmirror alerts replay funding": "send dead letters again, and turn on a rule that 410 turned off",
    "duckmirror alerts replay funding --after 1042": "evaluate the changes behind 1042 again, too",
  },
  input: inputSchema,
  run,
});
