// Case credits: what a first mirror, an unchanged source and a changed one cost, against the fewest credits possible.
import { z } from "zod";
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { type BenchMirror, startBenchMirror } from "./mirror-of.ts";

const ACCOUNTS = 300;
const PAGE = 100;
/** Content is dear at the source: one request per company. */
const ACCOUNTS_WITH_CONTENT = 40;
const CONTENT = "articleBody,jobDescription,fullTranscript,generatedAnalysis,fullContent,insights";
const CHANGES = [0.001, 0.01, 0.1];

const figureRow = z.object({ figure: z.number() });

/**
 * Pages of every list at the source, at least one each, one request per insight and three captures; with content also
 * the profiles, which only come one by one (this source's lists hold full signal texts that are asked for by name). No reader can
 * do with fewer.
 */
const lowerBound = async (mirror: BenchMirror, content: boolean): Promise<number> => {
  const pages = (rows: string) => `greatest(1, ceil(${rows} / ${PAGE}))`;
  const own = ["accounts", "contacts", "signals"].map((table) => `(SELECT ${pages("count(*)")} FROM ${table})`);
  const tracked = "(SELECT DISTINCT company_id AS id FROM accounts WHERE company_id IS NOT NULL)";
  const lists = ["news_articles", "job_openings", "earnings_calls", "filings"].map(
    (table) => `(SELECT sum(${pages("coalesce(n, 0)")}) FROM ${tracked} AS c
      LEFT JOIN (SELECT company_id, count(*) AS n FROM ${table} GROUP BY 1) AS t ON t.company_id = c.id)`,
  );
  const oneByOne = content ? [`(SELECT count(*) FROM ${tracked})`] : [];
  const parts = [...own, ...lists, ...oneByOne, "(SELECT count(*) FROM accounts)", "3"];
  const sql = `SELECT CAST(${parts.join(" + ")} AS DOUBLE) AS figure`;
  const [row] = await mirror.sandbox.database.query(sql, [], figureRow);
  return row?.figure ?? Number.NaN;
};

/** Credits of a report without the request history, which grows by the very requests that read it. */
const spent = (report: Awaited<ReturnType<BenchMirror["sync"]>>, history: number): number =>
  report.credits.spent - history;

const historyPages = (report: Awaited<ReturnType<BenchMirror["sync"]>>): number => {
  const usage = report.streams.find((stream) => stream.stream === "usage");
  return Math.max(0, (usage?.credits ?? 0) - 2);
};

/** Changes a share of accounts, contacts and signals at the source, each with its change date. Answers with how many. */
const changeShare = async (mirror: BenchMirror, share: number, round: number): Promise<readonly number[]> => {
  const at = `TIMESTAMPTZ '${new Date().toISOString()}'`;
  const changes = [
    ["accounts", `name = name || ' ${round}', updated_at = ${at}`],
    ["contacts", `current_title = 'Title ${round}', last_change_detected_on = ${at}`],
    ["signals", `headline = headline || ' ${round}', updated_at = ${at}`],
  ] as const;
  const counts: number[] = [];
  for (const [table, change] of changes) {
    const rows = (await mirror.numbers(`SELECT count(*) FROM ${table}`))[0] ?? 0;
    const changed = Math.max(1, Math.round(rows * share));
    await mirror.sandbox.database.run(
      `UPDATE ${table} SET ${change} WHERE id IN (SELECT id FROM ${table} ORDER BY md5(id::VARCHAR || '${round}') LIMIT ${changed})`,
    );
    counts.push(changed);
  }
  return counts;
};

const firstWithContent = async (): Promise<Figure> => {
  const mirror = await startBenchMirror({ accounts: ACCOUNTS_WITH_CONTENT, seed: 7, maxPerPage: PAGE });
  try {
    const report = await mirror.sync({}, { DUCKMIRROR_CONTENT: CONTENT });
    const share = spent(report, historyPages(report)) / (await lowerBound(mirror, true));
    return atMost(`first mirror of ${ACCOUNTS_WITH_CONTENT} accounts with every opt-in field`, share, 1.02, " ×", 3);
  } finally {
    await mirror.close();
  }
};

export const credits: BenchCase = {
  id: "credits",
  title: `Credits, ${ACCOUNTS} accounts, largest page ${PAGE}`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 7, maxPerPage: PAGE });
    try {
      const first = await mirror.sync();
      const bound = await lowerBound(mirror, false);
      const figures: Figure[] = [
        atMost("first mirror, of the lower bound", spent(first, historyPages(first)) / bound, 1.02, " ×", 3),
        await firstWithContent(),
      ];
      const unchanged = await mirror.sync();
      const listCredits = unchanged.streams.map((stream) => stream.credits);
      figures.push(
        atMost("unchanged sync, credits per list stream", Math.max(...listCredits), 1, "", 0),
        atMost(
          "unchanged sync, credits per company",
          unchanged.credits.spent - listCredits.filter((n) => n > 0).length,
          0,
          "",
          0,
        ),
      );
      for (const [index, share] of CHANGES.entries()) {
        const changed = await changeShare(mirror, share, index + 1);
        const report = await mirror.sync();
        // Changed rows stand together in the order of change; an account that changed has its insight fetched anew.
        const fewest = changed.reduce((sum, rows) => sum + Math.ceil(rows / PAGE), 0) + (changed[0] ?? 0);
        figures.push(
          atMost(
            `${share * 100}% changed, of the fewest pages that hold a change`,
            report.credits.spent / fewest,
            2,
            " ×",
          ),
        );
      }
      return figures;
    } finally {
      await mirror.close();
    }
  },
};
