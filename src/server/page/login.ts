// The login page: where to go after it, and why it is shown again.
import { byId, ofKind } from "./dom.ts";

const asked = new URLSearchParams(location.search);
ofKind("next", HTMLInputElement).value = asked.get("next") ?? "/";
byId("login-problem").hidden = !asked.has("wrong");
