// A served mirror in a browser: the built page over a server in this process, so that tests can stand in for the worker.
import { copyFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, expect, inject } from "vitest";
import { z } from "zod";
import { type RunningServer, startServer } from "../../src/server/app.ts";
import type { ServerOptions } from "../../src/server/http/server-context.ts";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { afterTest } from "../support/after-test.ts";
import { serving } from "../support/served.ts";
import { startBrowser } from "./chromium.ts";

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const axeResult = z.object({
  violations: z.array(
    z.object({ id: z.string(), impact: z.string().nullable(), nodes: z.array(z.object({ html: z.string() })) }),
  ),
});

export interface OpenPage {
  readonly page: Page;
  /** What the browser's console said that should not be there, faults of the page included. */
  readonly complaints: readonly string[];
}

interface Look {
  readonly width?: number;
  readonly dark?: boolean;
  /** Waits until every figure is there. */
  readonly settled?: boolean;
}

export type Served = Partial<ServerOptions> & Pick<ServerOptions, "profiles">;
export type Profile = ServerOptions["profiles"][number];

export const aProfile = (snapshot: string, more: Partial<Profile> = {}): Profile => ({
  name: "default",
  snapshot,
  ratePerMinute: 300,
  ...more,
});

export interface PageRig {
  readonly browser: Browser;
  serve(options: Served): Promise<RunningServer>;
  /** Opens an address in a context of its own that ends with the test. */
  open(url: string, look?: Look): Promise<OpenPage>;
  /** Opens an address narrow and light, then wide and dark: both must pass `check` and be well drawn. Returns the second. */
  openBoth(url: string, check: (page: Page) => unknown, look?: Pick<Look, "settled">): Promise<OpenPage>;
}

/** A rig for the tests of a file; closed after the last. */
export const rigForFile = async (): Promise<PageRig> => {
  const browser = await startBrowser();
  const servers: RunningServer[] = [];
  const pageFolder = pathToFileURL(join(dirname(inject("builtCli")), "../server/page/"));
  afterAll(async () => {
    await browser.close();
    for (const server of servers) await server.close();
  });
  const open: PageRig["open"] = async (url, { width = 1280, dark = false, settled = true } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      timezoneId: "UTC",
    });
    afterTest(() => context.close());
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(url);
    if (settled) await page.locator("#content[data-complete]").waitFor();
    return { page, complaints };
  };
  return {
    browser,
    serve: async (options) => {
      const server = await startServer({ ...serving(), pageFolder, ...options }, { host: "127.0.0.1", port: 0 });
      servers.push(server);
      return server;
    },
    open,
    openBoth: async (url, check, look = {}) => {
      const narrow = await open(url, { ...look, width: 360 });
      await check(narrow.page);
      await expectWellDrawn(narrow, `${url}, narrow and light`);
      await narrow.page.context().close();
      const wide = await open(url, { ...look, dark: true });
      await check(wide.page);
      await expectWellDrawn(wide, `${url}, wide and dark`);
      return wide;
    },
  };
};

/** The published file after some statements, as a snapshot of its own. */
export const snapshotAfter = async (snapshot: string, ...statements: readonly string[]): Promise<string> => {
  const file = join(tempDir(), "warehouse.duckdb");
  copyFileSync(snapshot, file);
  const database = await openDatabase(file, { threads: 2 });
  for (const sql of statements) await database.run(sql);
  await database.flushWal();
  await database.close();
  return file;
};

/** Accessibility rules that are broken seriously, with the elements that break them. */
export const seriousFindings = async (page: Page): Promise<readonly string[]> => {
  // Evaluated by the debugger: the page's own policy would let no such script in.
  await page.evaluate(axeSource);
  const { violations } = axeResult.parse(await page.evaluate("axe.run(document)"));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
};

/** Nothing sticks out sideways: the page itself never scrolls that way. */
export const expectNoSidewaysScroll = async (page: Page): Promise<void> => {
  const [content, window] = z
    .tuple([z.number(), z.number()])
    .parse(await page.evaluate("[document.documentElement.scrollWidth, innerWidth]"));
  expect(content).toBeLessThanOrEqual(window);
};

/** How far the layout moved without the reader's doing, since the page was opened (Cumulative Layout Shift). */
export const layoutShift = async (page: Page): Promise<number> =>
  z.number().parse(
    await page.evaluate(`new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
      }).observe({ type: "layout-shift", buffered: true });
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
    })`),
  );

/** Accessible, still, no wider than the window, and without a complaint of the browser's but one about a missing mirror. */
export const expectWellDrawn = async ({ page, complaints }: OpenPage, where: string): Promise<void> => {
  expect.soft(await layoutShift(page), where).toBeLessThanOrEqual(0.02);
  await expectNoSidewaysScroll(page);
  expect.soft(await seriousFindings(page), where).toEqual([]);
  const others = complaints.filter((text) => !text.includes("503"));
  expect.soft(others, where).toEqual([]);
};
