// Page of the settings in force, with the origin of each; destinations; what the key of this page may do.
import type { DeliveryFigures } from "../../../deliver/delivery-results.ts";
import { count, counted, span } from "../format.ts";
import { AlertBadge, Badge, Card, Problem, Table, Time } from "../parts/parts.tsx";
import { useAsk, useNow, useShared } from "../state.ts";
import type { Alerts, Settings as SettingsAnswer } from "../wire.ts";

const stateText = ({ state, failing, leftOut }: DeliveryFigures, now: number): string =>
  failing === null
    ? [state, ...leftOut.map(({ table, rows }) => `${counted(rows, "row")} of ${table} left out`)].join(", ")
    : `${state}: ${failing.code}, ${counted(failing.attempts, "attempt")}, ${span(now - failing.at)} ago`;

const Destinations = () => {
  const { profile } = useShared();
  const now = useNow();
  const { value } = useAsk<{ destinations: readonly DeliveryFigures[] }>(
    profile.destinations ? "/api/destinations" : null,
  );
  if (value === null) return null;
  const { destinations } = value;
  const late = destinations.filter(({ state }) => state !== "up to date").length;
  return (
    <Card
      title="Destinations"
      id="destinations-card"
      lead={
        late === 0
          ? "Every destination holds the published snapshot."
          : `${late} of ${counted(destinations.length, "destination")} without the published snapshot.`
      }
    >
      <Table
        title="Destinations"
        empty="No destination."
        rows={destinations}
        columns={[
          { head: "name", cell: ({ name }) => name },
          { head: "kind", wideOnly: true, cell: ({ kind }) => kind },
          { head: "state", kind: "cell", cell: (row) => stateText(row, now) },
          {
            head: "behind",
            cell: ({ behindMs }) => (behindMs === null ? "–" : behindMs === 0 ? "no" : span(behindMs)),
          },
          { head: "delivered", cell: ({ deliveredAt }) => <Time at={deliveredAt} as="ago" /> },
        ]}
      />
    </Card>
  );
};

const AlertRules = () => {
  const { profile } = useShared();
  const { value } = useAsk<Alerts>(profile.alerts ? "/api/alerts" : null);
  if (value === null) return null;
  return (
    <Card title="Alerts" id="alerts" lead="Rules that a worker evaluates after each publish.">
      <Table
        title="Alert rules"
        empty="No rule."
        rows={value.alerts}
        columns={[
          { head: "rule", cell: ({ name }) => name },
          { head: "state", cell: (rule) => <AlertBadge rule={rule} /> },
          { head: "sent", kind: "number", cell: ({ sent }) => count(sent) },
          { head: "waiting", kind: "number", cell: ({ waiting }) => count(waiting) },
          { head: "given up", kind: "number", cell: ({ dead }) => count(dead) },
          { head: "failed attempts", kind: "number", wideOnly: true, cell: ({ failed }) => count(failed) },
        ]}
      />
    </Card>
  );
};

export const Settings = () => {
  const { abilities, profile } = useShared();
  const { value, error } = useAsk<SettingsAnswer>(profile.settings ? "/api/settings" : null);
  return (
    <>
      <Card
        title="Settings in force"
        lead={`Profile ${profile.name}. The page only shows them: they are set in duckmirror.yaml, by variables and by flags. This key may ${
          abilities.may_operate ? "read, and start and change work" : "only read"
        }.`}
      >
        {error === null ? null : <Problem error={error} />}
        {value === null ? (
          profile.settings ? null : (
            <p class="hint">This server does not show its settings.</p>
          )
        ) : (
          <Table
            id="settings"
            title="Settings in force"
            empty="No setting."
            rows={[...value.settings].sort((a, b) => Number(a.from === null) - Number(b.from === null))}
            columns={[
              { head: "setting", cell: ({ name }) => <code>{name}</code> },
              { head: "value", kind: "cell", cell: ({ value: text }) => text },
              { head: "comes from", kind: "cell", cell: ({ from }) => (from === null ? <Badge>default</Badge> : from) },
              { head: "meaning", kind: "cell", wideOnly: true, cell: ({ meaning }) => meaning },
            ]}
          />
        )}
      </Card>
      <Destinations />
      <AlertRules />
    </>
  );
};
