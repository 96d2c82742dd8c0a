// Form of the explorer that sends feedback on a result to the service: names its price and shows what is sent.
import { useRef, useState } from "preact/hooks";
import { counted } from "../format.ts";
import { useShared } from "../state.ts";
import { type QueryResult, Refused, send } from "../wire.ts";

/** Longest value included; longer ones explain no more. */
const LONGEST_VALUE = 300;
const CATEGORIES = ["wrong-data", "missing-data", "api-usability", "feature-request", "other"];

const shortened = (value: unknown): unknown =>
  typeof value === "string" && value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value;

export const Feedback = ({ result: { columns, rows }, sql }: { result: QueryResult; sql: string }) => {
  const { abilities, profile } = useShared();
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState("");
  if (!profile.feedback || !abilities.may_operate) return null;
  const [first] = rows;
  const record =
    first === undefined ? null : Object.fromEntries(columns.map(({ name }, at) => [name, shortened(first[at])]));
  const context = { query: sql.slice(0, 500), record };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    setState("sending …");
    try {
      const body = { message: form.get("message"), category: form.get("category"), context, profile: profile.name };
      const { credits } = await send<{ credits: number }>("POST", "/api/feedback", body);
      setState(`Sent. It cost ${counted(credits, "credit")}.`);
    } catch (error) {
      setState(error instanceof Refused ? `${error.message} ${error.hint}` : String(error));
    }
  };
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Send feedback to the service (1 credit)
      </button>
      <dialog ref={dialog} aria-label="Feedback to the service">
        <form onSubmit={(event) => void submit(event)}>
          <label for="feedback-message">What is wrong or missing?</label>
          <textarea id="feedback-message" name="message" rows={4} required />
          <label for="feedback-category">Category</label>
          <select id="feedback-category" name="category">
            {CATEGORIES.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <p>The statement and the first row of the result are sent along:</p>
          <pre tabIndex={0}>{JSON.stringify(context, null, 2)}</pre>
          <div class="buttons">
            <button type="submit" class="primary">
              Send for one credit
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
            <span role="status">{state}</span>
          </div>
        </form>
      </dialog>
    </>
  );
};
