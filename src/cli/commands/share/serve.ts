// duckmirror serve: serves status page, local copy of the API, and metrics from the mirror. Reads only; runs until
// stopped.
import { once } from "node:events";
import { z } from "zod";
import type { ListenAddress } from "../../../core/config/setting-parsers.ts";
import { EXIT } from "../../../core/errors.ts";
import { startServer } from "../../../server/app.ts";
import { type CommandContext, defineCommand, option, type Profiles } from "../../command.ts";
import { listenOf, resolveAccess, serverOptions } from "../../worker/access-keys.ts";
import { servedProfile } from "../../worker/served-profile.ts";

/** Serves the profiles until the program is asked to stop. Throws LISTEN_FAILED and the errors of `resolveAccess`. */
export const serveProfiles = async (
  configs: Profiles,
  listen: ListenAddress,
  context: CommandContext,
): Promise<number> => {
  const { scrubber, signal, terminal, show, hint } = context;
  const [config] = configs;
  const access = await resolveAccess(config, listen, scrubber);
  const { key, open, madeIn } = access;
  const logger = await context.logger(config);
  const server = await startServer(
    {
      profiles: configs.map((profile) => {
        const { sendFeedback: _spends, ...reading } = servedProfile(profile, context, (text) => logger.warn(text));
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
    await show({ ...places, ...keyIn }, () => server.url);
    const whoMay = open ? "only this machine can reach it" : "it asks for a key";
    hint(`Status page and API run there; ${whoMay}. Ctrl-C ends it.`);
    if (login !== null) hint(`Log in: ${login}`);
    else if (madeIn !== null) hint(`Log in at ${server.url}/login with the key in ${madeIn}`);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await server.close();
  }
  return EXIT.done;
};

export const command = defineCommand({
  examples: {
    "duckmirror serve": "the status page of ./data on http://127.0.0.1:8737",
    "duckmirror serve --data-dir data/demo --listen 127.0.0.1:0": "the demo's, on any free port",
    "DUCKMIRROR_SERVER_KEY_FILE=key duckmirror serve --listen 0.0.0.0:8737": "for other machines: a key is asked for",
    "duckdb -readonly http://127.0.0.1:8737/warehouse.duckdb": "the snapshot in a DuckDB elsewhere (docs/REMOTE.md)",
    "curl http://127.0.0.1:8737/v1/accounts?perPage=5": "the API of the service, answered from the mirror at no credit",
  },
  input: z.object({ listen: option("<address>", "address and port (default: 127.0.0.1:8737; port 0: any free one)") }),
  run: async ({ listen }, context) => {
    const profiles = await context.loadProfiles();
    return serveProfiles(profiles, listenOf(listen, profiles[0]), context);
  },
});
