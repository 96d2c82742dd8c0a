// duckmirror serve: serves status page, local copy of the API, and metrics from the mirror. Reads only; runs until
// stopped.
import { once } from "node:events";
import { z } from "zod";
import type { Config } from "../../../core/config/config.ts";
import type { ListenAddress } from "../../../core/config/setting-parsers.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import { startServer } from "../../../server/http/listen.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { listenOf, resolveAccess, serverOptions } from "../../worker/access-keys.ts";
import { servedProfile } from "../../worker/served-profile.ts";

const inputSchema = z.object({ listen: z.string().optional() });

/** Serves the profiles until the program is asked to stop. Throws LISTEN_FAILED and the errors of `resolveAccess`. */
export const serveProfiles = async (
  configs: readonly [Config, ...Config[]],
  listen: ListenAddress,
  context: CommandContext,
): Promise<number> => {
  const { scrubber, signal, shared, terminal, printJson } = context;
  const [config] = configs;
  const access = await resolveAccess(config, listen, scrubber);
  const { key, open, madeIn } = access;
  const logger = await context.logger(config);
  const server = await startServer(
    {
      profiles: configs.map((profile) => {
        const { sendFeedback: _spends, ...reading } = servedProfile(profile, {
          ...context,
          warn: (text) => logger.warn(text),
        });
        return reading;
      }),
      ...serverOptions(config, access, context, logger),
    },
    listen,
  );
  try {
    // A browser does not send the part after #; the page reads it. A log or a pipe would keep the key.
    const isSeen = terminal.isTty.out && terminal.isTty.err;
    const login = madeIn === null || !isSeen ? null : `${server.url}/login#key=${key?.reveal() ?? ""}`;
    const places = { url: server.url, api: `${server.url}/v1`, metrics: `${server.url}/metrics` };
    const keyIn = madeIn === null ? {} : { key_file: madeIn };
    if (shared.json) await printJson({ ...places, ...keyIn });
    else await terminal.out(`${server.url}\n`);
    if (!shared.quiet && !shared.json) {
      const whoMay = open ? "only this machine can reach it" : "it asks for a key";
      terminal.err(`Status page and API run there; ${whoMay}. Ctrl-C ends it.\n`);
      if (login !== null) terminal.err(`Log in: ${login}\n`);
      else if (madeIn !== null) terminal.err(`Log in at ${server.url}/login with the key in ${madeIn}\n`);
    }
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await server.close();
  }
  return EXIT.done;
};

export const command = defineCommand({
  configure: (cli) =>
    cli.option("--listen <address>", "address and port (default: 127.0.0.1:8737; port 0: any free one)"),
  examples: {
    "duckmirror serve": "the status page of ./data on http://127.0.0.1:8737",
    "duckmirror serve --data-dir data/demo --listen 127.0.0.1:0": "the demo's, on any free port",
    "DUCKMIRROR_SERVER_KEY_FILE=key duckmirror serve --listen 0.0.0.0:8737": "for other machines: a key is asked for",
    "duckdb -readonly http://127.0.0.1:8737/warehouse.duckdb": "the snapshot in a DuckDB elsewhere (docs/REMOTE.md)",
    "curl http://127.0.0.1:8737/v1/accounts?perPage=5": "the API of the service, answered from the mirror at no credit",
  },
  input: inputSchema,
  run: async (input, context) => {
    const [config, ...others] = await context.loadProfiles();
    if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
    return serveProfiles([config, ...others], listenOf(input, config), context);
  },
});
