// Case page-path: how much of the program one ordinary page runs. Functions and files with calls between two pages of a plain
// walk, by V8's precise coverage; of what node_modules hold, nothing counts.
import { Session } from "node:inspector";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { startBenchMirror } from "./mirror-of.ts";
import { record, serveRecording } from "./recorded-service.ts";

/** The page before the measured one; pages around it are like it. */
const BEFORE = 8;
const MOST_FUNCTIONS = 400;
const MOST_FILES = 70;

const own = fileURLToPath(new URL("../", import.meta.url));

/** Calls `done` with the functions called since it was called last, by file. */
const createCallCounter = () => {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return {
    take: (): ReadonlyMap<string, readonly string[]> => {
      const files = new Map<string, readonly string[]>();
      session.post("Profiler.takePreciseCoverage", (error, taken) => {
        if (error !== null) throw error;
        for (const { url, functions } of taken.result) {
          const path = url.startsWith("file:") ? fileURLToPath(url) : "";
          const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
          const isOwn = path.startsWith(join(own, "src/")) || path.startsWith(join(own, "jobs/"));
          if (isOwn && called.length > 0)
            files.set(
              path.slice(own.length),
              called.map(({ functionName, ranges }) => functionName || `at ${ranges[0]?.startOffset}`),
            );
        }
      });
      return files;
    },
    close: () => session.disconnect(),
  };
};

/** Functions by file that one page of the walk runs. */
export const functionsOfAPage = async (): Promise<ReadonlyMap<string, readonly string[]>> => {
  const source = await startBenchMirror({ accounts: 300, seed: 10, maxPerPage: 20 });
  try {
    const recording = record(source.sandbox);
    await source.sync({ streams: ["accounts"] }, { DUCKMIRROR_CONCURRENCY: "1" });
    const service = await serveRecording(recording);
    const counter = createCallCounter();
    let page = 0;
    let found: ReadonlyMap<string, readonly string[]> = new Map();
    const env = {
      DUCKMIRROR_BASE_URL: service.url,
      DUCKMIRROR_CONCURRENCY: "1",
      DUCKMIRROR_DATA_DIR: join(source.dataDir, "again"),
    };
    await source.sync({ streams: ["accounts"] }, env, (event) => {
      if (event.kind !== "page") return;
      page += 1;
      if (page === BEFORE) counter.take();
      if (page === BEFORE + 1) found = counter.take();
    });
    counter.close();
    await service.close();
    return found;
  } finally {
    await source.close();
  }
};

const partOf = (path: string): string =>
  path
    .split("/")
    .slice(0, path.startsWith("src/sync/") ? 3 : 2)
    .join("/");

export const pagePath: BenchCase = {
  id: "page-path",
  title: "What one page of a plain walk runs",
  onlyNamed: true,
  run: async () => {
    const files = await functionsOfAPage();
    const parts = new Map<string, { functions: number; files: number }>();
    for (const [path, names] of files) {
      const { functions, files } = parts.get(partOf(path)) ?? { functions: 0, files: 0 };
      parts.set(partOf(path), { functions: functions + names.length, files: files + 1 });
    }
    const sum = [...parts.values()].reduce((all, part) => all + part.functions, 0);
    return [
      atMost("functions", sum, MOST_FUNCTIONS, "", 0),
      atMost("files", files.size, MOST_FILES, "", 0),
      ...[...parts].map(
        ([part, { functions, files }]): Figure => ({
          measure: part,
          value: `${functions} in ${files}`,
          aim: "",
          reached: null,
        }),
      ),
    ];
  },
};
