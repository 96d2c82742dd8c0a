// Brings domains and addresses to a comparable form. PURE.
// Source: API.md, "GET /v1/account-insights" (`domain`) and "GET /v1/companies/by-input/{companyInputId}".

/**
 * Domains that an input may mean, most specific first: `https://www.Shop.Acme.co.uk/x` → `shop.acme.co.uk`,
 * `acme.co.uk`, `co.uk`. Subdomains are dropped one by one, because without a list of public suffixes no rule
 * separates `co.uk` from `acme.com`; the first with a record wins. Empty when the input is no domain.
 */
export const domainCandidates = (input: string): readonly string[] => {
  const host = input
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, "")
    .replace(/^[^/?#]*@/, "")
    .replace(/[/?#].*$/s, "")
    .replace(/:\d+$/, "")
    .replace(/\.$/, "")
    .replace(/^www\./, "");
  const labels = host.split(".");
  if (labels.length < 2 || labels.some((label) => label === "" || /\s/.test(label))) return [];
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join("."));
};

/**
 * Address without scheme, `www.`, query, fragment and final slash, in lower case, so that two spellings are equal.
 */
export const bareAddress = (input: string): string =>
  input
    .trim()
    .toLowerCase()
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, "")
    .replace(/^www\./, "")
    .replace(/[?#].*$/s, "")
    .replace(/\/+$/, "");
