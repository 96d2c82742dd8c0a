// Page of one run: its result, what it changed, what it cost per list, and its requests, failed ones first.
import { useState } from "preact/hooks";
import { bytes, count, counted, span } from "../format.ts";
import { Badge, Card, Facts, Inside, modeText, Problem, RunBadge, Table, Time } from "../parts/parts.tsx";
import { useAsk, useShared } from "../state.ts";
import type { RunDetail, RunRequests } from "../wire.ts";

const CHANGES: Readonly<Record<string, string>> = { insert: "new", update: "changed", delete: "gone" };

const Requests = ({ runId, stream }: { runId: string; stream: string | null }) => {
  const filter = stream === null ? "" : `&stream=${encodeURIComponent(stream)}`;
  const { value, error } = useAsk<RunRequests>(`/api/runs/${encodeURIComponent(runId)}/requests?offset=0${filter}`);
  if (error !== null) return <Problem error={error} />;
  if (value === null) return null;
  return (
    <Card
      title={`Requests${stream === null ? "" : ` of ${stream}`}`}
      lead="Those without a good answer come first."
      id="requests"
    >
      <Table
        title="Requests of the run"
        empty="No requests."
        rows={value.requests}
        columns={[
          { head: "endpoint", kind: "cell", cell: ({ endpoint }) => endpoint },
          { head: "of", kind: "cell", wideOnly: true, cell: ({ scope }) => scope },
          {
            head: "status",
            cell: ({ status }) => <Badge mood={status === 200 ? "good" : "bad"}>{status ?? "no answer"}</Badge>,
          },
          { head: "credit", wideOnly: true, cell: ({ charge }) => charge },
          { head: "rows", kind: "number", cell: ({ rows }) => count(rows) },
          { head: "time", kind: "number", cell: ({ duration_ms }) => span(duration_ms) },
          { head: "error", kind: "cell", cell: ({ error: text }) => text ?? "" },
        ]}
      />
      {value.more ? (
        <p class="hint">
          The first 100. All of them: <code>select * from sync.requests</code> in the explorer.
        </p>
      ) : null}
    </Card>
  );
};

export const RunPage = ({ id }: { id: string }) => {
  const { status } = useShared();
  const [stream, setStream] = useState<string | null>(null);
  const { value: run, error } = useAsk<RunDetail>(`/api/runs/${encodeURIComponent(id)}`);
  if (error !== null) return <Problem error={error} />;
  if (run === null) return null;
  const known = status.value?.runs.find(({ run_id }) => run_id === id);
  const credits = run.streams.reduce((sum, one) => sum + one.credits, 0);
  return (
    <>
      <Card title={`${modeText(run.mode)} ${run.run_id}`}>
        <Facts
          facts={[
            ["Result", <RunBadge run={run} />],
            ["Started", <Time at={run.started_at} />],
            ["Took", run.finished_at === null ? "–" : span(run.finished_at - run.started_at)],
            ["Credits", count(known?.credits ?? credits)],
            ["Requests", count(known?.requests ?? run.streams.reduce((sum, one) => sum + one.requests, 0))],
            ["Forecast", known?.forecast_requests == null ? "not known" : counted(known.forecast_requests, "request")],
            ["Differences", known?.differences == null ? "–" : count(known.differences)],
          ]}
        />
        {run.error === null ? null : <div class={run.status === "done" ? "notice warn" : "problem"}>{run.error}</div>}
        <Table
          title="Lists of the run"
          empty="The run sent no request."
          rows={run.streams}
          columns={[
            {
              head: "list",
              cell: (row) => (
                <button type="button" class="link" onClick={() => setStream(row.stream)}>
                  {row.stream}
                </button>
              ),
            },
            { head: "requests", kind: "number", cell: ({ requests }) => count(requests) },
            { head: "credits", kind: "number", cell: (row) => count(row.credits) },
            { head: "failed", kind: "number", cell: ({ failed_requests }) => count(failed_requests) },
            { head: "received rows", kind: "number", wideOnly: true, cell: ({ rows }) => count(rows) },
            { head: "bytes", kind: "number", wideOnly: true, cell: (row) => bytes(row.bytes) },
          ]}
        />
      </Card>
      <Card title="What it changed" id="changed">
        <Table
          title="Rows that the run changed"
          empty="It changed no row: the mirror was as the service answered."
          rows={run.changed}
          columns={[
            { head: "table", cell: ({ table_name }) => <Inside to={`/tables/${table_name}`}>{table_name}</Inside> },
            { head: "change", cell: ({ change }) => CHANGES[change] ?? change },
            { head: "rows", kind: "number", cell: ({ rows }) => count(rows) },
          ]}
        />
      </Card>
      <Requests runId={id} stream={stream} />
    </>
  );
};
