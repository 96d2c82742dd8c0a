// bull-board at /queues of a worker with Redis: its page and its reading routes behind the server's access check. The
// package for Fastify is not used, because one of its libraries needs Node 22 (docs/decisions/dependencies.md).
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createBullBoard } from "@bull-board/api";
import type { BaseAdapter } from "@bull-board/api/baseAdapter";
import type {
  AppControllerRoute,
  AppViewRoute,
  BullBoardQueues,
  IServerAdapter,
  UIConfig,
} from "@bull-board/api/typings/app";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { isFromSources, programFile, readProgram } from "../../core/program-files.ts";
import { SECURITY_HEADERS } from "../access/access-checks.ts";
import { readAssets, sendAsset } from "../http/assets.ts";

const BASE = "/queues";
const POLICY = "content-security-policy";

/** The server's policy, which also allows `<base>`, because the page finds its files by it. */
const HEADERS = {
  [POLICY]: (SECURITY_HEADERS[POLICY] ?? "").replace("base-uri 'none'", "base-uri 'self'; worker-src 'self'"),
};

/** Hides Redis and the worker's machines: the page shows jobs only. */
const UI: UIConfig = {
  boardTitle: "duckmirror queues",
  hideRedisDetails: true,
  showWorkers: false,
  hideDocsLink: true,
  miscLinks: [{ text: "Status", url: "/" }],
};

/** Shown by the page instead of a failed response; both members have the same text. */
const AWAY = {
  code: "REDIS_UNAVAILABLE",
  error: "Redis does not answer.",
  message: "The queues are shown again when it is back; mirror and status page do not need it.",
};

const parameters = z.record(z.string(), z.unknown());

/** The parts that bull-board passes to its server. */
const partsOf = (queues: readonly BaseAdapter[]) => {
  const parts: {
    queues: BullBoardQueues;
    ui: UIConfig;
    views: string;
    assets: string;
    entry: AppViewRoute | null;
    api: readonly AppControllerRoute[];
  } = { queues: new Map(), ui: {}, views: "", assets: "", entry: null, api: [] };
  const serverAdapter: IServerAdapter = {
    setQueues: (found) => {
      parts.queues = found;
      return serverAdapter;
    },
    setUIConfig: (config) => {
      parts.ui = config;
      return serverAdapter;
    },
    setViewsPath: (path) => {
      parts.views = path;
      return serverAdapter;
    },
    setStaticPath: (_route, path) => {
      parts.assets = path;
      return serverAdapter;
    },
    setEntryRoute: (route) => {
      parts.entry = route;
      return serverAdapter;
    },
    setApiRoutes: (routes) => {
      parts.api = routes;
      return serverAdapter;
    },
    // The server's own handler responds, without inner details.
    setErrorHandler: () => serverAdapter,
  };
  // The build copies its page, because a package is only needed for it.
  const uiBasePath = fileURLToPath(programFile(isFromSources ? "node_modules/@bull-board/ui/" : "board/"));
  createBullBoard({ queues, serverAdapter, options: { uiConfig: UI, uiBasePath } });
  return parts;
};

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** The page without parts that the policy refuses: external fonts, and the inline styles of its waiting screen. */
const pageOf = (template: string, values: Readonly<Record<string, string>>): string =>
  template
    .replace(/<link [^>]*href="https?:[^>]*>/g, "")
    .replace(/<style>[\s\S]*?<\/style>/g, "")
    .replace(/ style="[^"]*"/g, "")
    .replace(/<%([-=])\s*(\w+)\s*%>/g, (_match, kind: string, name: string) =>
      kind === "-" ? (values[name] ?? "") : escaped(values[name] ?? ""),
    );

/** Routes for `startServer`: the page of the queues. Only reading routes are mounted, whatever the queues allow. */
export const queueBoard =
  (queues: readonly BaseAdapter[]) =>
  async (app: FastifyInstance): Promise<void> => {
    const { entry, api, ...parts } = partsOf(queues);
    if (entry === null) return;
    const { name, params } = entry.handler({ basePath: BASE, uiConfig: parts.ui });
    const page = pageOf(readProgram(pathToFileURL(join(parts.views, name))).toString("utf8"), params);
    const assets = readAssets(pathToFileURL(`${parts.assets}/`));
    await app.register(
      async (board) => {
        board.addHook("onRequest", async (_request, reply) => void reply.headers(HEADERS));
        for (const route of [entry.route].flat()) {
          board.get(route, (_request, reply) => reply.type("text/html; charset=utf-8").send(page));
        }
        board.get<{ Params: { "*": string } }>("/static/*", (request, reply) =>
          sendAsset(request, reply, assets.get(request.params["*"])),
        );
        for (const { method, route, handler } of api) {
          if (![method].flat().includes("get")) continue;
          for (const path of [route].flat()) {
            board.get(path, async (request, reply) => {
              const asked = { query: parameters.parse(request.query), params: parameters.parse(request.params) };
              const rest = { queues: parts.queues, uiConfig: parts.ui, body: {}, headers: {} };
              try {
                const answer = await handler({ ...asked, ...rest });
                return reply.code(answer?.status ?? 200).send(answer?.body);
              } catch {
                // These routes only query Redis; the worker's log has the reason for its failure.
                return reply.code(503).send(AWAY);
              }
            });
          }
        }
      },
      { prefix: BASE },
    );
  };
