// Page of the API reference, from the OpenAPI document: every route with its parameters, a form that tries it, and the fields of its
// records.
import { useState } from "preact/hooks";
import { JsonView } from "../explorer/json-view.tsx";
import { count, span } from "../format.ts";
import { Badge, Card, Inside, Problem, Table } from "../parts/parts.tsx";
import { useAsk } from "../state.ts";
import { chosenProfile } from "../wire.ts";

interface Schema {
  readonly type?: string | readonly string[];
  readonly $ref?: string;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly format?: string;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema & { readonly default?: unknown };
}

interface Operation {
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const typeOf = ({ type, $ref, items, enum: allowed, format }: Schema): string => {
  if ($ref !== undefined) return $ref.split("/").at(-1) ?? "";
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (allowed !== undefined) return allowed.join(" | ");
  return [Array.isArray(type) ? type.join(" | ") : (type ?? "any"), format].filter(Boolean).join(", ");
};

interface Answer {
  readonly status: number;
  readonly ms: number;
  readonly body: unknown;
}

/** The address of a call, with its parameters in place; those that are empty are left out. */
const addressOf = (
  path: string,
  parameters: readonly Parameter[],
  values: Readonly<Record<string, string>>,
): string => {
  const prefix = chosenProfile() === "" ? "" : `/profiles/${encodeURIComponent(chosenProfile())}`;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(values[name] ?? ""));
  const asked = parameters.filter(({ in: place, name }) => place === "query" && (values[name] ?? "") !== "");
  const query = new URLSearchParams(asked.map(({ name }) => [name, values[name] ?? ""]));
  return `${prefix}${filled}${asked.length === 0 ? "" : `?${query}`}`;
};

const Try = ({ path, parameters }: { path: string; parameters: readonly Parameter[] }) => {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [answer, setAnswer] = useState<Answer | null>(null);
  const address = addressOf(path, parameters, values);
  const ask = async (event: Event) => {
    event.preventDefault();
    const start = performance.now();
    const response = await fetch(address);
    const body: unknown = await response.json().catch(() => null);
    setAnswer({ status: response.status, ms: performance.now() - start, body });
  };
  return (
    <form class="try" onSubmit={(event) => void ask(event)}>
      {parameters.map(({ name, required, description, schema }) => (
        <label key={name}>
          <span>
            <code>{name}</code> {required ? <Badge>needed</Badge> : null}
          </span>
          <input
            name={name}
            required={required}
            placeholder={schema.default === undefined ? typeOf(schema) : String(schema.default)}
            value={values[name] ?? ""}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
          <span class="hint">{description}</span>
        </label>
      ))}
      <p class="buttons">
        <button type="submit" class="primary">
          Try it
        </button>
        <code>GET {address}</code>
      </p>
      {answer === null ? null : (
        <section aria-label="Response" class="unfolded">
          <p role="status">
            Status {answer.status}, {span(answer.ms)}
          </p>
          <JsonView value={answer.body} />
        </section>
      )}
    </form>
  );
};

const Route = ({ path, method, operation }: { path: string; method: string; operation: Operation }) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="route" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Badge>{method.toUpperCase()}</Badge> <code>{path}</code> <span class="hint">{operation.summary}</span>
      </summary>
      {isOpen && method === "get" ? <Try path={path} parameters={operation.parameters} /> : null}
      <ul class="plain">
        {Object.entries(operation.responses).map(([status, { description }]) => (
          <li key={status}>
            <strong>{status}</strong> {status === "200" ? "Read from the mirror, at no credit." : description}
          </li>
        ))}
      </ul>
    </details>
  );
};

const Fields = ({ name, schema }: { name: string; schema: Schema }) => (
  <details class="route">
    <summary>
      <code>{name}</code> <span class="hint">{count(Object.keys(schema.properties ?? {}).length)} fields</span>
    </summary>
    <Table
      title={`Fields of ${name}`}
      empty="No field."
      rows={Object.entries(schema.properties ?? {})}
      columns={[
        { head: "field", cell: ([field]) => <code>{field}</code> },
        { head: "type", kind: "cell", cell: ([, field]) => typeOf(field) },
        { head: "always there", cell: ([field]) => (schema.required?.includes(field) === true ? "yes" : "") },
        { head: "meaning", kind: "cell", wideOnly: true, cell: ([, field]) => field.description ?? "" },
      ]}
    />
  </details>
);

export const Reference = () => {
  const { value, error } = useAsk<Document>("/openapi.json");
  if (error !== null) return <Problem error={error} />;
  if (value === null) return null;
  const routes = Object.entries(value.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const tags = [...new Set(routes.flatMap(({ operation }) => operation.tags))];
  return (
    <>
      {tags.map((tag) => (
        <Card
          key={tag}
          title={tag}
          lead={
            tag === tags[0] ? (
              <>
                The routes of the service, answered from the mirror. <a href="/openapi.json">openapi.json</a> is for
                clients; <Inside to="/explorer">SQL</Inside> asks more.
              </>
            ) : undefined
          }
        >
          {routes
            .filter(({ operation }) => operation.tags.includes(tag))
            .map((route) => (
              <Route key={`${route.method} ${route.path}`} {...route} />
            ))}
        </Card>
      ))}
      <Card title="Records">
        {Object.entries(value.components.schemas).map(([name, schema]) => (
          <Fields key={name} name={name} schema={schema} />
        ))}
      </Card>
    </>
  );
};
