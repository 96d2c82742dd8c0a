// One seed: a service, a user who syncs it while it changes, and the verdict. Ends with sentences about what is wrong.
import { expectedTables, type Following } from "./expected.ts";
import { fewestCredits, lookCredits } from "./fewest-credits.ts";
import type { MirrorContents } from "./mirror-contents.ts";
import { NOT_THERE, tableProblems } from "./mirror-tables.ts";
import { type MirrorKind, openMirror } from "./open-mirror.ts";
import { type Chance, chanceOf } from "./random.ts";
import { type LoggedRequest, type SecondServer, startSecondServer } from "./service.ts";
import { drawTraits } from "./traits.ts";
import { sync, type Trial } from "./trial-sync.ts";

export interface TrialResult {
  readonly seed: number;
  readonly problems: readonly string[];
  /** What happened, a line a sync. */
  readonly story: readonly string[];
  readonly requests: readonly LoggedRequest[];
  readonly refusedForSpeed: number;
  readonly realMs: number;
}

const HOUR_MS = 3_600_000;
const INPUT_FIELDS = ["id", "domain", "mainStockSymbol", "websiteUrl"] as const;
const CONTENT = [
  "news_articles.articleBody",
  "job_openings.jobDescription",
  "earnings_calls.fullTranscript",
  "earnings_calls.generatedAnalysis",
  "filings.fullContent",
  "companies.insights",
  "signals.fullContent",
] as const;

/** Inputs and content a user of this seed configures. */
const drawFollowing = (server: SecondServer, chance: Chance): Following => {
  const companies = [...server.world.companies.values()];
  const inputs = Array.from(
    {
      length: chance.weigh([
        [4, 0],
        [2, 1],
        [1, 3],
      ]),
    },
    () => {
      const company = companies[chance.int(0, Math.max(0, companies.length - 1))];
      const input = company?.fields[chance.pick(INPUT_FIELDS)];
      return typeof input === "string" && !input.includes(",") && chance.often(0.8)
        ? input
        : `nobody-${chance.int(1, 9)}.example`;
    },
  );
  const content = CONTENT.filter(() => chance.often(0.3));
  return { inputs: [...new Set(inputs)], content: chance.often(0.35) ? content : [] };
};

/** Is the ledger of the mirror what the service counted? Over all runs, lost answers aside. */
const ledgerProblems = async ({ server }: Trial, contents: MirrorContents): Promise<readonly string[]> => {
  const { spent, ambiguous } = await contents.ledger();
  const charged = server.workspace.credits.charged();
  return charged < spent || charged > spent + ambiguous
    ? [`the service charged ${charged} in all, sync.requests holds ${spent} and ${ambiguous} unknown`]
    : [];
};

const rest = (trial: Trial): void => trial.server.setUnrest({ faults: false, changeEvery: 0 });

/** Answers with whether the mirror was found equal to the service. */
const firstMirror = async (trial: Trial): Promise<boolean> => {
  const { server, chance, following, problems } = trial;
  const kind = chance.weigh([
    [5, "plain"],
    [2, "budget"],
    [2, "ended"],
    [2, "restless"],
  ]);
  if (kind === "plain") {
    const before = server.workspace.history.length;
    const { charged, code } = await sync(trial, { what: "first mirror", ask: {}, codes: [0] });
    const refused = server.workspace.history.length - before - charged;
    const fewest = fewestCredits(server, following, before + refused);
    // Scouting: each list route may give away a page or two before its largest page is known.
    if (code === 0 && charged > 1.1 * fewest + 12)
      problems.push(`first mirror: ${charged} credits, ${fewest} would do`);
    return code === 0 && noteProblems(trial, await mirrorProblems(trial, "first mirror"));
  }
  if (kind === "budget") {
    const maxCredits = chance.int(0, 15);
    await sync(trial, { what: "first mirror, limited", ask: { maxCredits }, codes: [0, 4] });
  } else if (kind === "ended") {
    const endAtRequest = chance.int(1, 40);
    await sync(trial, { what: "first mirror, ended", ask: { endAtRequest }, codes: [0, 130, null] });
  } else {
    server.setUnrest({ faults: true, changeEvery: chance.pick([0, 3, 10]) });
    trial.changedSilently = true;
    await sync(trial, { what: "first mirror, restless", ask: {}, codes: [0, 5] });
  }
  rest(trial);
  const what = "first mirror, the rest";
  const { code } = await sync(trial, { what, ask: {}, codes: [0, 5] });
  // What changed while it was read may be found by the next full sync only.
  return kind !== "restless" && code === 0 && noteProblems(trial, await mirrorProblems(trial, what));
};

/** Answers with whether there were none. */
const noteProblems = ({ problems }: Trial, found: readonly string[]): boolean => {
  problems.push(...found);
  return found.length === 0;
};

/**
 * Tables that the mirror does not call complete. Without a count, rows of longer lists are not deleted, and insights go with
 * their accounts.
 */
const openTables = async (contents: MirrorContents): Promise<readonly string[]> => {
  const open = (await contents.openStreams()).map((stream) => `${stream} `);
  return open.includes("accounts ") ? [...open, "account_insights "] : open;
};

/** What is wrong with the published tables, all or those named, and with the ledger. */
const mirrorProblems = (
  trial: Trial,
  what: string,
  names: readonly string[] | null = null,
): Promise<readonly string[]> => {
  const tables = Object.entries(expectedTables(trial.server, trial.following));
  const wanted = Object.fromEntries(tables.filter(([name]) => names?.includes(name) ?? true));
  return trial.read(async (contents) => {
    const open = trial.server.traits.pages.counts ? [] : await openTables(contents);
    const isOpen = (problem: string) => problem.endsWith(NOT_THERE) && open.some((table) => problem.startsWith(table));
    const problems = [...(await tableProblems(contents, wanted)), ...(await ledgerProblems(trial, contents))];
    return problems.filter((problem) => !isOpen(problem)).map((problem) => `${what}: ${problem}`);
  });
};

/** Changes that the service announces, then one incremental sync: accounts and signals must be level. */
const announcedChanges = async (trial: Trial): Promise<void> => {
  const { server, chance, problems } = trial;
  for (let left = chance.int(0, 12); left > 0; left -= 1) server.world.change(chance, true);
  trial.advance(chance.pick([60_000, HOUR_MS, 30 * HOUR_MS]));
  const { code } = await sync(trial, { what: "after announced changes", ask: {}, codes: [0, 5] });
  if (code !== 0 || trial.changedSilently) return;
  const found = await mirrorProblems(trial, "after announced changes", ["accounts", "signals"]);
  // Without a count, only a walk of the whole list shows that a row is gone.
  problems.push(...found.filter((problem) => server.traits.pages.counts || !problem.endsWith(NOT_THERE)));
};

const restlessSync = async (trial: Trial): Promise<void> => {
  const { server, chance } = trial;
  for (let left = chance.int(0, 20); left > 0; left -= 1) server.world.change(chance, false);
  server.setUnrest({ faults: true, changeEvery: chance.pick([0, 2, 7]) });
  const ask = chance.often(0.3) ? { endAtRequest: chance.int(1, 15) } : {};
  await sync(trial, { what: "while it changes", ask: { ...ask, full: chance.often(0.4) }, codes: [0, 5, 130, null] });
  rest(trial);
};

const lowerTier = async (trial: Trial): Promise<void> => {
  const { server, problems, chance } = trial;
  const rowsOf = () => trial.read(async (contents) => (await contents.rows("accounts", ["id"], [])).length);
  const before = await rowsOf();
  server.setTier("public");
  await sync(trial, { what: "public tier", ask: { full: chance.often(0.5) }, codes: [0, 5] });
  if ((await rowsOf()) !== before) problems.push(`public tier: accounts went from ${before} to ${await rowsOf()} rows`);
  server.setTier("full");
  trial.advance(31 * 24 * HOUR_MS);
};

const spentQuota = async (trial: Trial): Promise<void> => {
  const { server, chance } = trial;
  const { credits, now } = server.workspace;
  const { refusal, usageBlock } = server.traits.credits;
  const left = chance.int(0, 4);
  credits.leave(left, now());
  // A 429 without a word means credits only to a run that has read that none are left.
  const untold = refusal === "429-bare" && (usageBlock !== "present" || left === 0);
  const codes = refusal === "403-words" ? [3, 4] : untold ? [4, 5] : [4];
  await sync(trial, { what: "credits gone", ask: { full: true }, codes });
  trial.advance(32 * 24 * HOUR_MS);
  credits.renew(now());
};

/** The source rests: the mirror must become equal. */
const settle = async (trial: Trial): Promise<void> => {
  let left: readonly string[] = [];
  for (const attempt of [1, 2, 3]) {
    const ask = { full: true, ...(attempt > 1 ? { allowMassDelete: true } : {}) };
    const { code } = await sync(trial, { what: `unchanged, ${attempt}`, ask, codes: attempt === 1 ? [0, 5] : [0] });
    left = code === 0 ? await mirrorProblems(trial, "unchanged") : left;
    if (code === 0 && left.length === 0) break;
    trial.advance(HOUR_MS);
  }
  noteProblems(trial, left);
};

/** Nothing changed since the mirror became equal: it stays so, and costs next to nothing. */
const unchanged = async (trial: Trial): Promise<void> => {
  const { server, problems } = trial;
  trial.advance(HOUR_MS);
  const { charged } = await sync(trial, { what: "unchanged", ask: {}, codes: [0] });
  const { largest, counts } = server.traits.pages;
  const { accounts, signals, contacts } = server.world;
  const { orders, times } = server.traits;
  // That a list does not show its changes first is learned once, by a walk: it does not sort, its dates are days, or rows
  // without a change date come first (seed 81).
  const learns = orders.unsortable.length > 0 || orders.nullsFirst || times.moment === "date";
  const looks = [accounts, signals, contacts].map(({ size }) => lookCredits(size, { largest, counts, learns }));
  // Counts and a filter. Without a count, a list's end is requested too.
  const few = looks.reduce((sum, credits) => sum + credits, 2 + (counts ? 0 : 6));
  if (charged > few) problems.push(`unchanged: ${charged} credits`);
  noteProblems(trial, await mirrorProblems(trial, "unchanged"));
};

const ACTS = [
  [4, [announcedChanges]],
  [4, [restlessSync]],
  [2, [announcedChanges, restlessSync]],
  [1, [lowerTier]],
  [2, [spentQuota]],
] as const satisfies readonly (readonly [number, readonly ((trial: Trial) => Promise<void>)[]])[];

const play = async (trial: Trial): Promise<void> => {
  const { chance } = trial;
  const isEqual = await firstMirror(trial);
  // A first mirror by two syncs is a story already: half of these end with it.
  const isStory = trial.story.length > 1 && chance.often(0.5);
  const acts = isStory ? [] : chance.weigh<readonly ((trial: Trial) => Promise<void>)[]>(ACTS);
  for (const act of acts) await act(trial);
  if (!isStory || !isEqual) await settle(trial);
  await unchanged(trial);
};

/** Runs one seed. Rejects only when the trial itself is broken. */
export const runTrial = async (seed: number, kind: MirrorKind): Promise<TrialResult> => {
  const began = performance.now();
  const mirror = await openMirror(kind, seed);
  const server = await startSecondServer(seed, mirror.clock, drawTraits(seed));
  const chance = chanceOf(`${seed}/story`);
  const following = drawFollowing(server, chance.named("following"));
  const { now, advance } = mirror;
  const trial: Trial = {
    server,
    following,
    ...mirror.open(server, following),
    chance,
    problems: [],
    story: [],
    changedSilently: false,
    now,
    advance,
  };
  try {
    await play(trial);
    trial.problems.push(...(mirror.differences?.() ?? []));
  } catch (error) {
    trial.problems.push(`the trial broke off: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    await server.close();
    await mirror.close();
  }
  return {
    seed,
    problems: trial.problems,
    story: trial.story,
    requests: server.log,
    refusedForSpeed: server.log.filter(({ why }) => why === "rate").length,
    realMs: performance.now() - began,
  };
};
