// Chooses the state that a command reads of a mirror with a home. Commands that only read the snapshot fetch nothing.
import type { Config } from "../core/config/config.ts";
import { formatDuration } from "../core/text/units.ts";
import { isoTime } from "../core/time.ts";
import type { CommandContext } from "./command.ts";

/** Writes the time and age of the copy that is here to stderr; nothing for a mirror without a home. */
export const sayCopy = async (
  { dataDir, home }: Pick<Config, "dataDir" | "home">,
  { clock, shared, terminal }: Pick<CommandContext, "clock" | "shared" | "terminal">,
): Promise<void> => {
  if (home === null || shared.quiet) return;
  // Loaded only here: most mirrors have no home.
  const { readLocalNote } = await import("../deliver/home/mirror-home.ts");
  const at = (await readLocalNote(dataDir))?.at ?? null;
  if (at === null) return;
  const age = formatDuration(Math.max(0, clock.now() - at));
  terminal.err(`this copy has the state of ${isoTime(at)}, ${age} old; another worker may have a later one\n`);
};
