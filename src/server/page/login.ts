// The login page: where to go after it, and why it is shown again. A link may bring the key along, behind #.
import { byId, ofKind } from "./dom.ts";

const asked = new URLSearchParams(location.search);
ofKind("next", HTMLInputElement).value = asked.get("next") ?? "/";
byId("login-problem").hidden = !asked.has("wrong");

const [, key] = /^#key=([\w-]{16,})$/.exec(location.hash) ?? [];
if (key !== undefined && !asked.has("wrong")) {
  // Neither the history nor the next page may keep it.
  history.replaceState(null, "", location.pathname + location.search);
  const field = ofKind("key", HTMLInputElement);
  field.value = key;
  field.form?.requestSubmit();
}
