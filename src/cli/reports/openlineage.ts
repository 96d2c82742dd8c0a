// Converts the result of a sync to OpenLineage events: START, then COMPLETE, FAIL or ABORT, with the lineage of columns. Pure. Source:
// https://openlineage.io/spec/2-0-2/OpenLineage.json and its facets.
import { catalogTables, type DictionaryTable } from "../../catalog/dictionary.ts";
import type { SyncNews, TableNews } from "./sync-news.ts";

/** One execution: the same in all of its events. */
export interface LineageRun {
  /** UUID. */
  readonly id: string;
  readonly profile: string;
  /** Address of the service: the namespace of what is read. */
  readonly service: string;
  /** Path of the snapshot. */
  readonly warehouse: string;
  readonly version: string;
}

const PRODUCER = "https://www.npmjs.com/package/duckmirror";
const SPEC = "https://openlineage.io/spec";

const facet = (path: string, fields: object) => ({ _producer: PRODUCER, _schemaURL: `${SPEC}/${path}`, ...fields });
const EVENT = "2-0-2/OpenLineage.json#/$defs";

const eventOf = (run: LineageRun, eventType: string, eventTime: string, rest: object) => ({
  eventType,
  eventTime,
  producer: PRODUCER,
  schemaURL: `${SPEC}/${EVENT}/RunEvent`,
  job: {
    namespace: "duckmirror",
    name: `sync.${run.profile}`,
    facets: {
      jobType: facet("facets/2-0-4/JobTypeJobFacet.json", {
        processingType: "BATCH",
        integration: "DUCKMIRROR",
        jobType: "SYNC",
      }),
    },
  },
  inputs: [],
  outputs: [],
  ...rest,
});

const engine = ({ version }: LineageRun) =>
  facet("facets/1-1-1/ProcessingEngineRunFacet.json", { version, name: "duckmirror" });

/** The event before the first request. `at`: ISO 8601. */
export const startEvent = (run: LineageRun, at: string): object =>
  eventOf(run, "START", at, { run: { runId: run.id, facets: { processing_engine: engine(run) } } });

const inputOf = (run: LineageRun, { source }: DictionaryTable) => ({ namespace: run.service, name: source });

const columnLineage = (run: LineageRun, table: DictionaryTable) => {
  const fields = table.columns.flatMap(({ name, sourceField }) => {
    if (sourceField === null) return [];
    const transformations = [{ type: "DIRECT", subtype: "IDENTITY" }];
    return [[name, { inputFields: [{ ...inputOf(run, table), field: sourceField, transformations }] }] as const];
  });
  return facet("facets/1-2-0/ColumnLineageDatasetFacet.json", { fields: Object.fromEntries(fields) });
};

const schemaOf = ({ columns }: DictionaryTable) =>
  facet("facets/1-2-0/SchemaDatasetFacet.json", {
    fields: columns.map(({ name, type, meaning }) => ({
      name,
      ...(type === null ? {} : { type }),
      description: meaning,
    })),
  });

const outputOf = (run: LineageRun, table: DictionaryTable, news: TableNews) => {
  const { rows, complete, unconfirmed, ...figures } = news;
  const assertion = {
    assertion: "complete",
    success: complete,
    severity: "warn",
    expected: "0",
    actual: String(unconfirmed ?? "unknown"),
  };
  return {
    namespace: "file",
    name: `${run.warehouse}/main.${table.name}`,
    facets: {
      schema: schemaOf(table),
      columnLineage: columnLineage(run, table),
      dataQualityAssertions: facet("facets/1-1-0/DataQualityAssertionsDatasetFacet.json", { assertions: [assertion] }),
      duckmirror_sync: facet(`${EVENT}/DatasetFacet`, figures),
    },
    outputFacets: {
      outputStatistics: facet("facets/1-0-2/OutputStatisticsOutputDatasetFacet.json", {
        rowCount: news.inserted + news.updated + news.deleted,
      }),
    },
  };
};

const ENDS: Readonly<Record<SyncNews["status"], "COMPLETE" | "FAIL" | "ABORT">> = {
  done: "COMPLETE",
  // The allowance ended it; the next sync goes on.
  stopped: "COMPLETE",
  partial: "FAIL",
  failed: "FAIL",
  interrupted: "ABORT",
};

const errorMessage = (message: string) =>
  facet("facets/1-0-1/ErrorMessageRunFacet.json", { message, programmingLanguage: "SQL" });

/** The event after a sync. A snapshot that stays is no output. */
export const endEvent = (run: LineageRun, news: SyncNews): object => {
  const tables = catalogTables().flatMap((table) => {
    const found = table.schema === "main" ? news.tables.find((one) => one.table === table.name) : undefined;
    return found === undefined ? [] : [{ table, news: found }];
  });
  const { run_id, requests, credits, error } = news;
  const facets = {
    processing_engine: engine(run),
    duckmirror_run: facet(`${EVENT}/RunFacet`, { run_id, requests, credits }),
    ...(error === null ? {} : { errorMessage: errorMessage(`${error.code}: ${error.message}`) }),
  };
  return eventOf(run, ENDS[news.status], news.finished_at, {
    run: { runId: run.id, facets },
    inputs: tables.map(({ table }) => inputOf(run, table)),
    outputs: news.published ? tables.map((one) => outputOf(run, one.table, one.news)) : [],
  });
};

/** The event of a sync that threw before it had a report. */
export const failEvent = (run: LineageRun, message: string, at: string): object =>
  eventOf(run, "FAIL", at, {
    run: { runId: run.id, facets: { processing_engine: engine(run), errorMessage: errorMessage(message) } },
  });
