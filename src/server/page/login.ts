// The login page: where to go after it, and why it is shown again. A link may bring the key along, behind #.

/** The element with this id, of this kind. Throws if the page has none. */
const ofKind = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new TypeError(`#${id} is missing`);
};

const asked = new URLSearchParams(location.search);
ofKind("next", HTMLInputElement).value = asked.get("next") ?? "/";
ofKind("login-problem", HTMLElement).hidden = !asked.has("wrong");

const [, key] = /^#key=([\w-]{16,})$/.exec(location.hash) ?? [];
if (key !== undefined && !asked.has("wrong")) {
  // Neither the history nor the next page may keep it.
  history.replaceState(null, "", location.pathname + location.search);
  const field = ofKind("key", HTMLInputElement);
  field.value = key;
  field.form?.requestSubmit();
}
