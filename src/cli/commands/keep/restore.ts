// duckmirror restore: makes an empty data directory a mirror again, from a backup.
import { resolve } from "node:path";
import { z } from "zod";
import { restoreJob } from "../../../../jobs/backup.ts";
import { EXIT } from "../../../core/errors.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";

const inputSchema = z.object({ source: z.string().min(1) });

export const command = defineCommand({
  configure: (cli) => cli.argument("<source>", "folder of a backup"),
  examples: {
    "duckmirror restore /backups/2026-11-23": "into the configured data directory, which must hold no mirror",
    "duckmirror restore /backups/2026-11-23 --data-dir ./trial": "into another one, e.g. to try the backup",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, terminal, cwd } = context;
    const config = await context.loadConfig();
    const source = resolve(cwd, input.source);
    const report = await audited(
      config,
      context,
      { action: "restore", subject: source },
      () => restoreJob(config, { source }, { clock }),
      ({ bytes }) => ({ bytes }),
    );
    if (shared.json) await context.printJson(report);
    else
      await terminal.out(`${report.warehouse} is the mirror of ${report.made_at}; the next sync reads what is new\n`);
    return EXIT.done;
  },
});
