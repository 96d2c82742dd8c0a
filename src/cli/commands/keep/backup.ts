// duckmirror backup: writes a proven copy of the mirror to a folder.
import { resolve } from "node:path";
import { z } from "zod";
import { backupJob } from "../../../../jobs/backup.ts";
import { EXIT } from "../../../core/errors.ts";
import { formatBytes, formatDuration } from "../../../core/text/units.ts";
import { packageVersion } from "../../../core/version.ts";
import { audited } from "../../audited.ts";
import { defineCommand } from "../../command.ts";

const inputSchema = z.object({ target: z.string().min(1), force: z.boolean().default(false) });

export const command = defineCommand({
  configure: (cli) =>
    cli.argument("<target>", "folder that the backup becomes").option("--force", "replace an earlier backup there"),
  examples: {
    "duckmirror backup /backups/2026-11-23": "the published snapshot, keys, followed companies, erased contacts",
    "duckmirror backup /backups/latest --force": "replace the backup of yesterday",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, terminal, cwd } = context;
    const config = await context.loadConfig();
    const request = { target: resolve(cwd, input.target), force: input.force, version: packageVersion() };
    const report = await audited(
      config,
      context,
      { action: "backup", subject: request.target },
      () => backupJob(config, request, { clock }),
      ({ bytes }) => ({ bytes }),
    );
    if (shared.json) await context.printJson(report);
    else {
      const took = formatDuration(report.duration_ms);
      await terminal.out(
        `${report.backup}: ${formatBytes(report.bytes)} in ${report.files} files, read and compared (${took})\n`,
      );
    }
    return EXIT.done;
  },
});
