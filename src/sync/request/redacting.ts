// Applies redaction to responses of the service, before anything of them is archived, planned with or loaded. The
// redactor itself is pure (api/redact.ts).
import { type Redactor, redactOutcome } from "../../api/redact.ts";
import type { Sender } from "./sender.ts";

/** The sender with every outcome redacted. */
export const redactingSender = (sender: Sender, redact: Redactor | null): Sender =>
  redact === null
    ? sender
    : {
        ...sender,
        send: async (parcel, ends) => {
          const sending = await sender.send(parcel, ends);
          return sending.kind === "outcome" ? { ...sending, outcome: redactOutcome(sending.outcome, redact) } : sending;
        },
      };
