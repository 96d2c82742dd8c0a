// Shared code of `pause` and `resume`: their options, and the work on each target.
import type { Command } from "commander";
import { z } from "zod";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { Pause } from "../../core/report/fleet.ts";
import type { CommandContext } from "../command.ts";
import { pauseName } from "../terminal/fleet-tables.ts";
import { recorded } from "./recorded.ts";
import { connectWorker } from "./worker-connection.ts";

export const steerInput = z.object({ queue: z.string().optional(), fleet: z.boolean().default(false) });

/** Adds the options; --profile is one of every command. `verb`: "pause" or "resume". */
export const addTargets = (cli: Command, verb: string): Command =>
  cli
    .option("--queue <name>", `${verb} one queue, as \`duckmirror jobs\` names it`)
    .option("--fleet", `${verb} the start of all syncs`)
    .addHelpText(
      "after",
      `\n--profile NAME ${verb}s one profile. Several targets may be named at once. Needs Redis (REDIS_URL), which keeps what is paused.`,
    );

type Target = Pick<Pause, "kind" | "name">;

/** Throws USAGE where nothing is named. */
const targetsOf = ({ queue, fleet }: z.output<typeof steerInput>, profile: string | undefined): readonly Target[] => {
  const targets: Target[] = [];
  if (fleet) targets.push({ kind: "fleet", name: null });
  if (profile !== undefined) targets.push({ kind: "profile", name: profile });
  if (queue !== undefined) targets.push({ kind: "queue", name: queue });
  if (targets.length > 0) return targets;
  throw new DuckmirrorError("USAGE", { detail: "name a target: --profile NAME, --queue NAME or --fleet" });
};

/** Pauses or resumes the targets, and prints what is paused and how many syncs still run. */
export const steer = async (
  verb: "pause" | "resume",
  input: z.output<typeof steerInput>,
  context: CommandContext,
): Promise<number> => {
  const { shared, terminal } = context;
  const targets = targetsOf(input, shared.profile);
  const profiles = await context.loadProfiles();
  const [config] = profiles;
  if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
  const worker = await connectWorker(profiles, context);
  const { fleet } = worker;
  try {
    if (fleet === null) {
      throw new DuckmirrorError("USAGE", { detail: `\`${verb}\` needs Redis (REDIS_URL), which keeps what is paused` });
    }
    const done: (Target & { readonly changed: boolean })[] = [];
    for (const target of targets) {
      const deed = { action: verb, subject: pauseName(target) };
      const work = () => fleet.steering[verb](target);
      done.push({ ...target, changed: await recorded(deed, worker, config, context, work, () => ({})) });
    }
    const { paused } = await fleet.read();
    const active = await worker.triggers.active();
    const running = active.filter(({ state }) => state === "running").length;
    if (shared.json) {
      await context.printJson({ [verb === "pause" ? "pauses" : "resumes"]: done, paused, running });
      return EXIT.done;
    }
    const is = verb === "pause" ? "is paused" : "is resumed";
    const was = verb === "pause" ? "was paused already" : "was not paused";
    for (const { changed, ...target } of done) await terminal.out(`${pauseName(target)} ${changed ? is : was}\n`);
    if (verb === "pause" && running > 0) {
      await terminal.out(`${running} ${running === 1 ? "sync runs" : "syncs run"} to the end\n`);
    }
    return EXIT.done;
  } finally {
    await worker.close();
  }
};
