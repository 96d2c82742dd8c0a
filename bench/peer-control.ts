// The orders the benchmark gives its service process, and that process as seen from the benchmark.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";

const count = z.int().min(0);

export const controlOrder = z.discriminatedUnion("order", [
  /** The rows of the beginning, counters at zero, and how to behave from now on. */
  z.object({
    order: z.literal("reset"),
    maxPerPage: count,
    perMinute: count.nullable(),
    /** What happens to an organization list after each page of it; null: it stands still. */
    moves: z.object({ inserts: count, deletes: count, updates: count }).nullable(),
  }),
  /** From now on the rows stand still. */
  z.object({ order: z.literal("rest") }),
  /** Counters at zero. */
  z.object({ order: z.literal("clear") }),
  /** Changes a share of every organization list. */
  z.object({ order: z.literal("change"), share: z.number() }),
  /** Kills the process group when so many credits are spent. */
  z.object({ order: z.literal("kill"), afterCredits: count, group: count }),
  z.object({ order: z.literal("figures") }),
  /** Served and refused requests by token, and the time from the first to the last one; where there is a rate. */
  z.object({ order: z.literal("clients") }),
  z.object({ order: z.literal("rows") }),
]);
export type ControlOrder = z.infer<typeof controlOrder>;

const figuresSchema = z.object({ requests: count, credits: count, refused: count, otherErrors: count });
export type ServiceFigures = z.infer<typeof figuresSchema>;

const clientsSchema = z.record(z.string(), z.object({ served: count, refused: count, requestsMs: count }));

const rowsSchema = z.array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.number()]))]));

/** Path of a list → id → ms of the row's last change. */
export type SourceRows = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface PeerService {
  readonly url: string;
  tell(order: ControlOrder): Promise<void>;
  figures(): Promise<ServiceFigures>;
  clients(): Promise<z.infer<typeof clientsSchema>>;
  rows(): Promise<SourceRows>;
  close(): Promise<void>;
}

/** The organization's three lists, or with them the four of each tracked company. */
export type WhichLists = "organization" | "all";

/** Starts the service with the rows of a sandbox of so many accounts. */
export const startPeerService = async (accounts: number, seed: number, which: WhichLists): Promise<PeerService> => {
  const program = fileURLToPath(new URL("peer-service-process.js", import.meta.url));
  const child = spawn(process.execPath, [program, String(accounts), String(seed), which], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`the service ended with code ${code} before it listened`)));
  });
  const ask = async (order: ControlOrder): Promise<unknown> => {
    const response = await fetch(`${url}/control`, { method: "POST", body: JSON.stringify(order) });
    if (!response.ok) throw new Error(`the service refused "${order.order}": ${await response.text()}`);
    return response.json();
  };
  return {
    url,
    tell: async (order) => void (await ask(order)),
    figures: async () => figuresSchema.parse(await ask({ order: "figures" })),
    clients: async () => clientsSchema.parse(await ask({ order: "clients" })),
    rows: async () =>
      new Map(rowsSchema.parse(await ask({ order: "rows" })).map(([path, rows]) => [path, new Map(rows)])),
    close: async () => {
      child.kill();
      await ended;
    },
  };
};
