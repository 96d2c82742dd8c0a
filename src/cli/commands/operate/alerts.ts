// duckmirror alerts: shows the alert rules, sends what they found, tries one out, sends dead letters again.
import { z } from "zod";
import {
  type AlertReport,
  alertsJob,
  backtestAlert,
  listAlerts,
  replayAlert,
  testAlert,
} from "../../../../jobs/alerts.ts";
import type { RulePass } from "../../../alerts/run-rule.ts";
import { EXIT } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import { isoTime, isoTimeOrNull, momentBefore } from "../../../core/time.ts";
import { audited } from "../../audited.ts";
import { anyArguments, type CommandContext, defineCommand, option, optionOf, usage } from "../../command.ts";
import { failureOfAll, problemJson } from "../../problem.ts";
import { renderTable, right } from "../../terminal/table.ts";

const ACTIONS = ["list", "send", "test", "replay"] as const;

const inputSchema = z.object({
  args: anyArguments,
  since: option("<when>", "with test: when the rule would have sent what since then, e.g. 90d; sends nothing"),
  after: optionOf(
    z
      .string()
      .regex(/^\d{1,15}$/, { error: "is no number of a change" })
      .transform(Number)
      .optional(),
    { value: "<n>", summary: "with replay: evaluate the changes behind this number again" },
  ),
});
type Input = z.output<typeof inputSchema>;

/** Contract of `alerts list --json`. */
const stateJson = ({ failed: _, nextAt, error, dead, ...state }: AlertReport) => ({
  ...state,
  next_attempt_at: isoTimeOrNull(nextAt),
  error,
  dead: dead.map(({ id, madeAt, ...letter }) => ({ id, made_at: isoTime(madeAt), ...letter })),
});

const stateText = ({ off, problem, error, dead, active }: AlertReport): string => {
  if (off !== null) return `off: the receiver answered 410 at ${off.at}`;
  return problem?.message ?? error ?? dead.at(-1)?.error ?? active.map(({ key }) => key).join(", ");
};

const list = async (names: readonly string[], context: CommandContext): Promise<number> => {
  const states = await listAlerts(await context.loadConfig(), names);
  const columns = ["rule", "event", ...["change", "sent", "waiting", "dead"].map(right), "state"];
  const rows = states.map((state) => {
    const { name, event, after, sent, waiting, dead } = state;
    return [name, event, after, sent, waiting, dead.length, stateText(state)];
  });
  return context.show({ alerts: states.map(stateJson) }, () => renderTable(columns, rows, context.terminal.columns));
};

const passJson = ({ name, sent, dead, waiting, nextAt, error }: RulePass, { scrubber }: CommandContext) => ({
  name,
  sent,
  dead,
  waiting,
  next_attempt_at: isoTimeOrNull(nextAt),
  ...(error === null ? {} : problemJson(error, scrubber)),
});

const failureOf = (passes: readonly RulePass[]) => failureOfAll(passes, "ALERTS_FAILED");

const showPasses = async (passes: readonly RulePass[], context: CommandContext): Promise<number> => {
  const columns = ["rule", right("sent"), right("waiting"), right("dead")];
  const rows = passes.map(({ name, sent, waiting, dead }) => [name, sent, waiting, dead]);
  await context.show({ alerts: passes.map((pass) => passJson(pass, context)) }, () =>
    renderTable(columns, rows, context.terminal.columns),
  );
  for (const { error } of passes) if (error !== null) context.printProblem(error);
  return failureOf(passes)?.exitCode ?? EXIT.done;
};

const tryOut = async (name: string, context: CommandContext): Promise<number> => {
  const { clock, signal } = context;
  const config = await context.loadConfig();
  const { found, taken, error } = await testAlert(config, name, { clock, signal, random: Math.random });
  const lines = found.slice(0, 20).map(({ n, row }) => `${n === undefined ? "" : `${n} `}${JSON.stringify(row)}`);
  const receiver = taken ? "The receiver took a test message." : "The receiver did not take the test message.";
  return context.show(
    { found, taken },
    () => [`${counted(found.length, "event")} found.`, ...lines, receiver].join("\n"),
    error,
  );
};

/** `alerts test NAME --since 90d`: when the rule would have sent what. */
const lookBack = async (name: string, since: string, context: CommandContext): Promise<number> => {
  const { clock, signal } = context;
  const from = momentBefore("--since", since, clock.now());
  const config = await context.loadConfig();
  const found = await backtestAlert(config, { name, since: from }, { clock, signal, random: Math.random });
  const lines = found.map(({ at, type, row }) => `${at} ${type} ${JSON.stringify(row)}`);
  return context.show({ since: isoTime(from), found }, () =>
    [`${counted(found.length, "event")} since ${isoTime(from)}.`, ...lines].join("\n"),
  );
};

const only = (names: readonly string[], action: string): string => {
  const [name, ...more] = names;
  if (name !== undefined && more.length === 0) return name;
  throw usage(`alerts ${action} needs the name of one rule`);
};

const run = async ({ args, after, since }: Input, context: CommandContext): Promise<number> => {
  const [word = "list", ...names] = args;
  const action = ACTIONS.find((known) => known === word);
  if (action === undefined) throw usage(`"${word}" is not ${ACTIONS.join(", ")}`);
  if (after !== undefined && action !== "replay") throw usage("--after belongs to `alerts replay`");
  if (since !== undefined) {
    if (action !== "test") throw usage("--since belongs to `alerts test`");
    return lookBack(only(names, "test"), since, context);
  }
  if (action === "list") return list(names, context);
  const { clock, signal } = context;
  const config = await context.loadConfig();
  const noted = { action: "alert", subject: [action, ...names].join(" ") } as const;
  if (action === "test") return audited(config, context, noted, () => tryOut(only(names, "test"), context));
  const using = { clock, signal, random: Math.random };
  const work = async (): Promise<readonly RulePass[]> =>
    action === "send"
      ? alertsJob(config, names, using)
      : [await replayAlert(config, { name: only(names, "replay"), after: after ?? null }, using)];
  const passes = await audited(config, context, noted, work, (all) => ({
    outcome: failureOf(all)?.code ?? "ok",
  }));
  return showPasses(passes, context);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[action]", "list (default), send, test or replay")
      .argument("[name...]", "rules; test and replay: one (default: all)"),
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
