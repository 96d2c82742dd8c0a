// Feedback on a chosen record, with the record and the query as context.
import { byId, ofKind } from "./dom.ts";
import { counted } from "./format.ts";
import { chosenProfile, Refused, send } from "./wire.ts";

/** Longest value included; longer ones explain no more. */
const LONGEST_VALUE = 300;

let context: Readonly<Record<string, unknown>> = {};

const shortened = (value: unknown): unknown =>
  typeof value === "string" && value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;

export const openFeedback = (about: {
  readonly query: string;
  readonly record: Readonly<Record<string, unknown>>;
}): void => {
  const record = Object.fromEntries(Object.entries(about.record).map(([name, value]) => [name, shortened(value)]));
  context = { query: about.query, record };
  byId("feedback-context").textContent = JSON.stringify(context, null, 2);
  byId("feedback-state").textContent = "";
  ofKind("feedback-dialog", HTMLDialogElement).showModal();
};

export const startFeedback = (): void => {
  ofKind("feedback-form", HTMLFormElement).addEventListener("submit", async (event) => {
    event.preventDefault();
    const state = byId("feedback-state");
    const message = ofKind("feedback-message", HTMLTextAreaElement);
    const category = ofKind("feedback-category", HTMLSelectElement).value;
    state.textContent = "sending …";
    try {
      const body = { message: message.value, category, context, profile: chosenProfile() };
      const { credits } = await send<{ credits: number }>("POST", "/api/feedback", body);
      state.textContent = `Sent. It cost ${counted(credits, "credit")}.`;
      message.value = "";
    } catch (error) {
      state.textContent = error instanceof Refused ? `${error.message} ${error.hint}` : String(error);
    }
  });
};
