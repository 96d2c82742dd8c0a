// Search box over accounts, contacts, companies and events, on every page: `/` opens it, arrows and Enter choose.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Found } from "../../warehouse/read/search/search.ts";
import { go, useAsk, useSettled } from "./state.ts";
import { withProfile } from "./wire.ts";

/** The page of a found record: its account's, else the explorer with its row. */
export const pageOf = ({ table, key, account_id }: Found): string => {
  const [id] = Object.values(key);
  if (table === "accounts") return `/accounts/${encodeURIComponent(String(id))}`;
  if (account_id !== null) return `/accounts/${encodeURIComponent(String(account_id))}`;
  const where = Object.entries(key).map(([name, value]) => `"${name}" = '${String(value).replaceAll("'", "''")}'`);
  return `/explorer#sql=${encodeURIComponent(`select * from ${table} where ${where.join(" and ")}`)}`;
};

/** `/` puts the cursor into the field, unless the reader writes somewhere. */
const useSlash = (field: { readonly current: HTMLInputElement | null }): void =>
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { activeElement } = document;
      const isTyping = activeElement?.matches("input, textarea, select") || Boolean(activeElement?.shadowRoot);
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

const FoundList = ({ found, chosen }: { found: readonly Found[]; chosen: number }) => (
  <div id="found" role="listbox" aria-label="Found records">
    {found.map((one, at) => (
      <a
        key={`${one.table} ${JSON.stringify(one.key)}`}
        id={`found-${at}`}
        role="option"
        aria-selected={at === chosen}
        tabIndex={-1}
        href={withProfile(pageOf(one))}
        data-inside
      >
        <strong>{one.title ?? Object.values(one.key).join(" ")}</strong> <span class="hint">{one.table}</span>
        <br />
        <span class="hint">{one.snippet.slice(0, 140)}</span>
      </a>
    ))}
  </div>
);

export const Search = () => {
  const field = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState("");
  const asked = useSettled(words.trim());
  const [chosen, setChosen] = useState(0);
  const [isOpen, setOpen] = useState(false);
  useSlash(field);
  const { value, error } = useAsk<readonly Found[]>(
    asked === "" ? null : `/api/search?limit=12&q=${encodeURIComponent(asked)}`,
  );
  const found = value ?? [];
  const open = (one: Found | undefined) => {
    if (one === undefined) return;
    setOpen(false);
    setWords("");
    go(pageOf(one));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") return setOpen(false);
    if (event.key === "Enter") return open(found[chosen]);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found.length === 0) return;
    event.preventDefault();
    setChosen((chosen + step + found.length) % found.length);
  };
  const isShown = isOpen && asked !== "";
  return (
    <search class="search">
      <input
        ref={field}
        type="text"
        placeholder="Search  ( / )"
        aria-label="Search accounts, contacts, companies and events"
        role="combobox"
        list={undefined}
        aria-expanded={isShown && found.length > 0}
        aria-controls="found"
        aria-activedescendant={isShown && found.length > 0 ? `found-${chosen}` : undefined}
        autocomplete="off"
        value={words}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setChosen(0);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="found" hidden={!isShown}>
        <FoundList found={found} chosen={chosen} />
        {error === null ? null : <p class="hint">{error.message}</p>}
        {value !== null && found.length === 0 ? <p class="hint">Nothing holds these words.</p> : null}
      </div>
    </search>
  );
};
