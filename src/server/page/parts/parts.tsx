// Small components that every page uses: tables, badges, times, problems. Text is always inserted as text, so that no record of the mirror
// can become markup.
import type { ComponentChildren } from "preact";
import { ago, count, moodOf, when } from "../format.ts";
import { useNow } from "../state.ts";
import { type Refused, withProfile } from "../wire.ts";

export type Mood = "good" | "warn" | "bad" | "plain";

export const Badge = ({ mood = "plain", children }: { mood?: Mood; children: ComponentChildren }) => (
  <span class={mood === "plain" ? "badge" : `badge ${mood}`}>{children}</span>
);

/** A rule that works is well only if its messages arrive. */
export const AlertBadge = ({ rule: { works, dead } }: { rule: { readonly works: boolean; readonly dead: number } }) => {
  if (!works) return <Badge mood="bad">does not work</Badge>;
  return dead > 0 ? <Badge mood="warn">messages given up</Badge> : <Badge mood="good">works</Badge>;
};

/** A link to another page of this server. */
export const Inside = ({ to, children, ...more }: { to: string; children: ComponentChildren; class?: string }) => (
  <a href={withProfile(to)} data-inside {...more}>
    {children}
  </a>
);

/** A link to another site; the record chose it, so only web addresses become links. */
export const Outside = ({ to, children }: { to: string | null; children: ComponentChildren }) =>
  to !== null && /^https?:\/\//i.test(to) ? (
    <a href={to} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  ) : null;

const utc = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** A time in the reader's zone, with UTC on hover; or an age. */
export const Time = ({ at, as = "when" }: { at: number | null; as?: "when" | "ago" }) => {
  const now = useNow();
  if (at === null) return <span>{as === "ago" ? "never" : "–"}</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={utc(at)}>
      {as === "ago" ? ago(at, now) : when(at)}
    </time>
  );
};

export const Card = (props: { title: string; lead?: ComponentChildren; id?: string; children?: ComponentChildren }) => (
  <section class="card" id={props.id} aria-label={props.title}>
    <h2>{props.title}</h2>
    {props.lead === undefined ? null : <p class="lead">{props.lead}</p>}
    {props.children}
  </section>
);

export const Problem = ({ error }: { error: Refused }) => (
  <div class="problem" role="alert">
    {error.message}
    {error.hint === "" ? null : `\n${error.hint}`}
  </div>
);

/** Text with `commands` between backticks, and times in UTC that are shown in the reader's zone. */
export const Said = ({ text }: { text: string }) => (
  <>
    {text.split(/(`[^`]+`|\d{4}-\d\d-\d\d \d\d:\d\d UTC)/).map((part) => {
      if (part.startsWith("`")) return <code>{part.slice(1, -1)}</code>;
      const at = / UTC$/.test(part) ? Date.parse(part.replace(" UTC", "Z").replace(" ", "T")) : Number.NaN;
      return Number.isNaN(at) ? part : <Time at={at} />;
    })}
  </>
);

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly kind?: "number" | "cell";
  /** Omitted on a narrow page. */
  readonly wideOnly?: boolean;
  /** What the head means, on hover. */
  readonly meaning?: string;
}

const classOf = ({ kind, wideOnly }: { readonly kind?: string; readonly wideOnly?: boolean }): string =>
  [kind ?? "", wideOnly === true ? "narrow-hide" : ""].join(" ").trim();

/** A table, or a sentence instead of an empty one. */
export const Table = <T,>(props: {
  title: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  empty: string;
  id?: string;
}) =>
  props.rows.length === 0 ? (
    <p class="hint" id={props.id}>
      {props.empty}
    </p>
  ) : (
    <section class="scroll" tabIndex={0} aria-label={props.title}>
      <table id={props.id}>
        <caption class="unseen">{props.title}</caption>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th scope="col" class={classOf(column)} title={column.meaning} key={column.head}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr>
              {props.columns.map((column) => (
                <td class={classOf(column)}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );

/** A share from 0 to 1 as a bar. SVG attributes, because the page's policy forbids inline styles. */
export const Bar = ({ share, label }: { share: number; label: string }) => (
  <div class="bar" role="img" aria-label={label}>
    <svg preserveAspectRatio="none" viewBox="0 0 100 6" aria-hidden="true">
      <rect width={Math.round(100 * Math.min(1, Math.max(0, share)))} height="6" fill="currentColor" />
    </svg>
  </div>
);

export const Facts = ({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** What a run is, in words that need no explanation. */
const MODES: Readonly<Record<string, string>> = {
  incremental: "sync",
  full: "sync of every row",
  verify: "verification",
  replay: "replay",
};
export const modeText = (mode: string): string => MODES[mode] ?? mode;

/** A verification that found differences is no success. */
export const RunBadge = ({
  run,
}: {
  run: { readonly status: string; readonly mode: string; readonly error: string | null };
}) => (
  <Badge mood={run.status === "done" && run.error !== null ? "warn" : moodOf(run.status)}>
    {run.status === "done" && run.error !== null ? "found differences" : run.status}
  </Badge>
);

/** How many rows the tables hold: the one count that every page shows. */
export const rowTotal = (tables: readonly { readonly row_count: number }[]): number =>
  tables.reduce((sum, { row_count }) => sum + row_count, 0);

export const Rows = ({ tables }: { tables: readonly { readonly row_count: number }[] }) => (
  <span class="row-total">{count(rowTotal(tables))} rows</span>
);
