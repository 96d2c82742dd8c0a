// Cost of the next sync, and findings: rejects and drift.
import { byId, fillTable, make, ofKind } from "../dom.ts";
import { ago, count, counted } from "../format.ts";
import { ask, type Findings, type PlanAnswer } from "../wire.ts";

/** Asks for the plan again with the chosen content. Listens once; `content`: names to choose from. */
const offerContent = (content: readonly string[]): HTMLSelectElement => {
  const select = ofKind("plan-with", HTMLSelectElement);
  if (select.options.length > 0) return select;
  select.append(
    ...["", ...content].map((name) => make("option", { value: name }, name === "" ? "as configured" : name)),
  );
  select.addEventListener("change", () => {
    showPlan(true, content).catch((error: unknown) => {
      byId("plan-price").textContent = error instanceof Error ? error.message : String(error);
    });
  });
  return select;
};

export const showPlan = async (offered: boolean, content: readonly string[]): Promise<void> => {
  const card = byId("plan-card");
  card.hidden = !offered;
  if (!offered) return;
  const { value: chosen } = offerContent(content);
  const plan = await ask<PlanAnswer>(chosen === "" ? "/api/plan" : `/api/plan?with=${encodeURIComponent(chosen)}`);
  byId("plan-price").textContent = plan.content.map(({ name, text }) => `${name}: ${text}`).join("; ");
  const left =
    plan.left_at_reset === null
      ? ""
      : plan.short
        ? ` They end on ${plan.empty_on}: ${counted(plan.short, "credit")} short until the reset.`
        : ` About ${counted(plan.left_at_reset, "credit")} would be left at the reset.`;
  const time =
    plan.minutes === null
      ? ""
      : ` and ${plan.minutes < 1 ? "under a minute" : `about ${counted(Math.ceil(plan.minutes), "minute")}`}`;
  byId("plan-lead").textContent = plan.at_least
    ? `How many credits is not known before ${plan.unknown.join(", ")} ${plan.unknown.length === 1 ? "was" : "were"} read once.`
    : `${counted(plan.requests, "credit")}${time}. An unchanged source costs about ${count(plan.credits_per_day)} a day.${left}`;
  fillTable(
    ofKind("plan", HTMLTableElement),
    plan.streams.length === 0 ? "Nothing is due." : "Streams that are due",
    [
      { head: "stream", cell: (row) => row.stream },
      { head: "lists", kind: "number", cell: (row) => count(row.scopes) },
      { head: "credits", kind: "number", cell: (row) => (row.at_least ? "not known" : count(row.requests)) },
      { head: "because", kind: "cell", cell: (row) => row.because.map(({ reason }) => reason).join(", ") },
    ],
    plan.streams,
  );
};

export const showFindings = async (now: number): Promise<void> => {
  const { rejects, drift } = await ask<Findings>("/api/findings");
  byId("findings-lead").textContent =
    rejects.length + drift.length === 0
      ? "Every record fitted, and the service answers as its document says."
      : `${counted(drift.length, "difference")} from the API document, ${counted(rejects.length, "record")} kept aside. No value is lost.`;
  fillTable(
    ofKind("drift", HTMLTableElement),
    drift.length === 0 ? "No drift." : "Differences from the API document",
    [
      { head: "field", cell: (row) => `${row.table_name}.${row.field}` },
      { head: "kind", cell: (row) => row.kind.replaceAll("_", " ") },
      { head: "seen", kind: "cell", cell: (row) => row.detail },
      { head: "times", kind: "number", cell: (row) => count(row.occurrences) },
    ],
    drift,
  );
  fillTable(
    ofKind("rejects", HTMLTableElement),
    rejects.length === 0 ? "No rejects." : "Records kept aside",
    [
      { head: "when", cell: (row) => ago(row.rejected_at, now) },
      { head: "table", cell: (row) => row.table_name },
      { head: "reason", kind: "cell", cell: (row) => row.reason },
      { head: "record", kind: "cell", wideOnly: true, cell: (row) => row.record.slice(0, 200) },
    ],
    rejects,
  );
};
