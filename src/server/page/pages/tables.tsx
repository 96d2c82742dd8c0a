// Page of all tables: rows, age and completeness of each; growth of rows; values that did not fit.
import { count, counted, span } from "../format.ts";
import { Card, Problem, Rows, Table, Time } from "../parts/parts.tsx";
import { type Line, Plot } from "../parts/plot.tsx";
import { TableList } from "../parts/table-list.tsx";
import { useAsk, useNow, useShared } from "../state.ts";
import type { Findings as FindingsAnswer, Growth as GrowthAnswer } from "../wire.ts";

const Growth = () => {
  const now = useNow();
  const growth = useAsk<GrowthAnswer>("/api/growth").value?.growth ?? [];
  const moments = [...new Set(growth.map((point) => point.moment))].sort((a, b) => a - b);
  const [first] = moments;
  const names = [...new Set(growth.map((point) => point.table_name))];
  const lines = names.map((name): Line => {
    const known = new Map(
      growth.filter((point) => point.table_name === name).map((point) => [point.moment, point.row_count]),
    );
    let held = 0;
    return {
      label: name,
      values: moments.map((at) => {
        held = known.get(at) ?? held;
        return held;
      }),
    };
  });
  const isFlat = lines.every(({ values }) => values[0] === values.at(-1));
  return (
    <Card title="Rows over time">
      {first === undefined || isFlat ? (
        <p class="hint">The numbers of rows have not changed since the first sync.</p>
      ) : (
        <Plot
          shape={{ label: `Rows of each table over ${span(now - first)}`, x: moments.map((at) => at / 1000), lines }}
        />
      )}
    </Card>
  );
};

const Findings = () => {
  const found = useAsk<FindingsAnswer>("/api/findings").value;
  if (found === null) return null;
  const { rejects, drift } = found;
  if (rejects.length + drift.length === 0)
    return (
      <Card
        title="Records that did not fit"
        lead="Every record fitted, and the service answers as its document says."
        id="findings"
      />
    );
  return (
    <Card
      title="Records that did not fit"
      id="findings"
      lead={`${counted(drift.length, "difference")} from the API document, ${counted(rejects.length, "record")} kept aside. No value is lost.`}
    >
      <Table
        title="Differences from the API document"
        empty="No difference from the API document."
        rows={drift}
        columns={[
          { head: "field", cell: (row) => `${row.table_name}.${row.field}` },
          { head: "kind", cell: (row) => row.kind.replaceAll("_", " ") },
          { head: "seen", kind: "cell", cell: (row) => row.detail },
          { head: "times", kind: "number", cell: (row) => count(row.occurrences) },
        ]}
      />
      <Table
        title="Records kept aside"
        empty="No record was kept aside."
        rows={rejects}
        columns={[
          { head: "when", cell: (row) => <Time at={row.rejected_at} as="ago" /> },
          { head: "table", cell: (row) => row.table_name },
          { head: "reason", kind: "cell", cell: (row) => row.reason },
          { head: "record", kind: "cell", wideOnly: true, cell: (row) => row.record.slice(0, 200) },
        ]}
      />
    </Card>
  );
};

export const Tables = () => {
  const { status } = useShared();
  if (status.error !== null) return <Problem error={status.error} />;
  if (status.value === null) return null;
  return (
    <>
      <Card title="Tables" lead={<Rows tables={status.value.tables} />}>
        <TableList tables={status.value.tables} />
      </Card>
      <Growth />
      <Findings />
    </>
  );
};
