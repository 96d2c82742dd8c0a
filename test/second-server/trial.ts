// One seed: a service, a user who syncs it while it changes, and the verdict. Ends with sentences about what is wrong.
import { excusedBy, hasDoubtedMerges, mayBeOpen, usualCodes } from "./excused.ts";
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
/** Free requests of an unchanged sync that may be refused: a route that is forbidden, and records asked for by id. */
const MOST_REFUSED = 15;
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
      length: chance.weigh([4, 0], [2, 1], [1, 3]),
    },
    () => {
      const company = companies[chance.int(0, Math.max(0, companies.length - 1))];
      const input = company?.fields[chance.pick(INPUT_FIELDS)];
      return typeof input === "string" && !input.includes(",") && chance.often(0.8)
        ? input
        : `nobody-${chance.int(1, 9)}.example`;
    },
  );
  const drawn = CONTENT.filter(() => chance.often(0.3));
  const content = chance.often(0.35) ? drawn : [];
  const isLate = server.traits.strangers.lateMs > 0;
  const late = isLate && !content.includes("signals.fullContent") ? (["signals.fullContent"] as const) : [];
  return { inputs: [...new Set(inputs)], content: [...content, ...late] };
};

/** Is the ledger of the mirror what the service counted? Over all runs, lost answers aside. */
const ledgerProblems = async ({ server }: Trial, contents: MirrorContents): Promise<readonly string[]> => {
  const { spent, ambiguous } = await contents.ledger();
  const charged = server.workspace.credits.charged();
  return charged < spent || charged > spent + ambiguous
    ? [`the service charged ${charged} in all, sync.requests holds ${spent} and ${ambiguous} unknown`]
    : [];
};

/** A long wait is read as spent credits as long as nobody has reported how many are left. */
const restlessCodes = ({ server }: Trial): readonly number[] =>
  server.traits.strangers.oddities > 0 ? [0, 4, 5] : [0, 5];

const rest = (trial: Trial): void => trial.server.setUnrest({ faults: false, changeEvery: 0 });

/** Answers with whether the mirror was found equal to the service. */
const firstMirror = async (trial: Trial): Promise<boolean> => {
  const { server, chance, following, problems } = trial;
  const kind = chance.weigh([5, "plain"], [2, "budget"], [2, "ended"], [2, "restless"]);
  if (kind === "plain") {
    const before = server.workspace.history.length;
    const { charged, code } = await sync(trial, { what: "first mirror", ask: {}, codes: usualCodes(trial.server) });
    const refused = server.workspace.history.length - before - charged;
    const fewest = fewestCredits(server, following, before + refused);
    // Scouting: each list route may give away a page or two before its largest page is known.
    const { window, estimates } = server.traits.strangers;
    if (code === 0 && window === null && !estimates && charged > 1.1 * fewest + 12)
      problems.push(`first mirror: ${charged} credits, ${fewest} would do`);
    return code === 0 && noteProblems(trial, await mirrorProblems(trial, "first mirror"));
  }
  if (kind === "budget") {
    const maxCredits = chance.int(0, 15);
    await sync(trial, { what: "first mirror, limited", ask: { maxCredits }, codes: [...usualCodes(trial.server), 4] });
  } else if (kind === "ended") {
    const endAtRequest = chance.int(1, 40);
    await sync(trial, {
      what: "first mirror, ended",
      ask: { endAtRequest },
      codes: [...usualCodes(trial.server), 130, null],
    });
  } else {
    server.setUnrest({ faults: true, changeEvery: chance.pick([0, 3, 10]) });
    trial.changedSilently = true;
    await sync(trial, { what: "first mirror, restless", ask: {}, codes: restlessCodes(trial) });
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

/** What is wrong with the published tables, all or those named, and with the ledger. */
const mirrorProblems = (
  trial: Trial,
  what: string,
  names: readonly string[] | null = null,
): Promise<readonly string[]> => {
  const tables = Object.entries(expectedTables(trial.server, trial.following));
  const wanted = Object.fromEntries(tables.filter(([name]) => names?.includes(name) ?? true));
  return trial.read(async (contents) => {
    const isExcused = await excusedBy(trial.server, trial.following, contents);
    const problems = [...(await tableProblems(contents, wanted)), ...(await ledgerProblems(trial, contents))];
    return problems.filter((problem) => !isExcused(problem)).map((problem) => `${what}: ${problem}`);
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
  // A record that is still served by its id is settled by two walks.
  const { pages, strangers } = server.traits;
  const isSettled = pages.counts && strangers.leavers === "gone";
  problems.push(...found.filter((problem) => isSettled || !problem.endsWith(NOT_THERE)));
};

const restlessSync = async (trial: Trial): Promise<void> => {
  const { server, chance } = trial;
  for (let left = chance.int(0, 20); left > 0; left -= 1) server.world.change(chance, false);
  server.setUnrest({ faults: true, changeEvery: chance.pick([0, 2, 7]) });
  const ask = chance.often(0.3) ? { endAtRequest: chance.int(1, 15) } : {};
  await sync(trial, {
    what: "while it changes",
    ask: { ...ask, full: chance.often(0.4) },
    codes: [...restlessCodes(trial), 130, null],
  });
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
  if (server.traits.strangers.plan !== "counted") return;
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

/** What a first sync may not settle: rows still served by their ids, and companies that a text calls gone. */
const isSettledLater = ({ server }: Trial): boolean =>
  hasDoubtedMerges(server) || server.traits.strangers.leavers !== "gone";

/** The source rests: the mirror must become equal. */
const settle = async (trial: Trial): Promise<void> => {
  let left: readonly string[] = [];
  for (const attempt of [1, 2, 3]) {
    const ask = { full: true, ...(attempt > 1 ? { allowMassDelete: true } : {}) };
    const { code } = await sync(trial, {
      what: `unchanged, ${attempt}`,
      ask,
      codes: attempt === 1 || (attempt === 2 && isSettledLater(trial)) ? [0, 5] : usualCodes(trial.server),
    });
    const isRead = usualCodes(trial.server).includes(Number(code));
    left = isRead ? await mirrorProblems(trial, "unchanged") : left;
    if (isRead && left.length === 0) break;
    // A 404 of text may be a gateway's: it deletes a company after three syncs, the first at least a day ago.
    trial.advance(13 * HOUR_MS);
  }
  noteProblems(trial, left);
  // A walk that spent credits interrupted, and that no shared row joins, proves nothing: the list is read once more.
  if ((await unexplained(trial)).length === 0) return;
  trial.advance(HOUR_MS);
  await sync(trial, { what: "what is open", ask: {}, codes: usualCodes(trial.server) });
};

/** Credits that an unchanged sync may cost. */
const fewCredits = ({ server }: Trial): number => {
  const { largest, counts } = server.traits.pages;
  const { accounts, signals, contacts } = server.world;
  const { orders, times } = server.traits;
  // That a list does not show its changes first is learned once, by a walk: it does not sort, its dates are days, or rows
  // without a change date come first (seed 81).
  const learns = orders.unsortable.length > 0 || orders.nullsFirst || times.moment === "date";
  const looks = [accounts, signals, contacts].map(({ size }) => lookCredits(size, { largest, counts, learns }));
  // Counts and a filter. Without a count, a list's end is requested too.
  const { window, estimates } = server.traits.strangers;
  // A list that never adds up may be read once more up to its window (known: seeds 24 and 87).
  const walks = [accounts, signals, contacts].map(({ size }) => lookCredits(size, { largest, counts, learns: true }));
  const again = window === null && !estimates ? 0 : 2 * walks.reduce((sum, credits) => sum + credits, 0);
  const few = looks.reduce((sum, credits) => sum + credits, 2 + (counts ? 0 : 6));
  return few + again;
};

/** Streams that are called incomplete, though nothing that the service does explains it. */
const unexplained = async (trial: Trial): Promise<readonly string[]> => {
  const may = mayBeOpen(trial.server, trial.following);
  if (may === null) return [];
  const open = await trial.read((contents) => contents.openStreams());
  return open.filter((stream) => !may.includes(stream));
};

/** Nothing changed since the mirror became equal: it stays so, and costs next to nothing. */
const unchanged = async (trial: Trial): Promise<void> => {
  const { server, problems } = trial;
  const { window, estimates } = server.traits.strangers;
  // A list that never adds up is walked twice before the disagreement counts as the same one.
  const tries = window === null && !estimates ? 1 : 4;
  for (let left = tries; left > 0; left -= 1) {
    trial.advance(HOUR_MS);
    const from = server.log.length;
    const { charged } = await sync(trial, { what: "unchanged", ask: {}, codes: usualCodes(trial.server) });
    if (left > 1) continue;
    if (charged > fewCredits(trial)) problems.push(`unchanged: ${charged} credits`);
    const refused = server.log
      .slice(from)
      .filter(({ status, why }) => status >= 400 && (why === "" || why === "strange"));
    if (refused.length > MOST_REFUSED) problems.push(`unchanged: ${refused.length} requests were refused again`);
  }
  noteProblems(trial, await mirrorProblems(trial, "unchanged"));
  const open = await unexplained(trial);
  if (open.length > 0) problems.push(`unchanged: ${open.join(", ")} not complete`);
};

/** Our own clock is wrong in one sync. */
const wrongClock = async (trial: Trial): Promise<void> => {
  trial.setAhead(trial.server.traits.strangers.clockAheadMs);
  await sync(trial, { what: "by a wrong clock", ask: {}, codes: [0, 5] });
  trial.setAhead(0);
};

/** Details that lag behind their list are there by now. */
const lateDetails = async (trial: Trial): Promise<void> => {
  trial.advance(2 * trial.server.traits.strangers.lateMs + 24 * HOUR_MS);
  await sync(trial, { what: "when details are there", ask: {}, codes: usualCodes(trial.server) });
  const open = await trial.read((contents) => contents.openStreams());
  const may = mayBeOpen(trial.server, { ...trial.following, content: [] });
  if (may !== null && !may.includes("signals") && open.includes("signals"))
    trial.problems.push("when details are there: signals not complete");
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
  const acts = isStory ? [] : chance.weigh<readonly ((trial: Trial) => Promise<void>)[]>(...ACTS);
  for (const act of acts) await act(trial);
  const { clockAheadMs, lateMs } = trial.server.traits.strangers;
  if (clockAheadMs !== 0) await wrongClock(trial);
  if (!isStory || !isEqual) await settle(trial);
  if (lateMs > 0) await lateDetails(trial);
  await unchanged(trial);
};

/** Runs one seed. Rejects only when the trial itself is broken. */
export const runTrial = async (seed: number, kind: MirrorKind): Promise<TrialResult> => {
  const began = performance.now();
  const mirror = await openMirror(kind, seed);
  const server = await startSecondServer(seed, mirror.clock, drawTraits(seed));
  const chance = chanceOf(`${seed}/story`);
  const following = drawFollowing(server, chance.named("following"));
  const { now, advance, setAhead } = mirror;
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
    setAhead,
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
