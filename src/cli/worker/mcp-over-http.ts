// Serves the MCP server at /mcp over HTTP, for `mcp --http`, behind the access check of `serve`. A key of the role `read` may use the tools
// that read; spending needs `operate`.
import { once } from "node:events";
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import type { Config } from "../../core/config/config.ts";
import { startServer } from "../../server/app.ts";
import { mayOperate } from "../../server/audit-trail/request-notes.ts";
import type { CommandContext } from "../command.ts";
import { addressOf, resolveAccess } from "./access-keys.ts";
import { faultLog } from "./log.ts";
import { servedProfile } from "./served-profile.ts";

/** Serves until the command is stopped. `open`: a server for one request. Throws USAGE, LISTEN_FAILED, SERVER_KEY_MISSING. */
export const serveOverHttp = async (
  address: string,
  config: Config,
  context: CommandContext,
  open: (maySpend: boolean) => McpServer,
): Promise<void> => {
  const { clock, version, scrubber, signal, show } = context;
  const listen = addressOf("--http", address, 8738);
  const { key, keyFile, tls } = await resolveAccess(config, listen, scrubber);
  const logger = await context.logger(config);
  const profile = servedProfile(config, context, (text) => logger.warn(text));
  const onFault = faultLog(logger);
  const reading = createMcpHandler(() => open(false));
  const spending = createMcpHandler(() => open(true));
  const options = { profiles: [profile], key, keyFile, tls, clock, version, onFault };
  const server = await startServer(options, listen, (app) => {
    app.post("/mcp", async (request, reply) => {
      const headers = new Headers({ "content-type": "application/json" });
      for (const [name, value] of Object.entries(request.headers)) {
        if (/^(accept|mcp-.*)$/.test(name) && typeof value === "string") headers.set(name, value);
      }
      const asked = new Request("http://localhost/mcp", {
        method: "POST",
        headers,
        body: JSON.stringify(request.body),
      });
      const answer = await (mayOperate(request) ? spending : reading).fetch(asked, { parsedBody: request.body });
      for (const [name, value] of answer.headers) reply.header(name, value);
      return reply.code(answer.status).send(await answer.text());
    });
  });
  try {
    const url = `${server.url}/mcp`;
    await show({ url }, () => url);
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await server.close();
  }
};
