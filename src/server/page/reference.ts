// The rendered API reference: Swagger UI with this server's OpenAPI document.

declare global {
  interface Window {
    readonly SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => unknown;
  }
}

window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  // Nothing leaves this machine: no external validator, no stored key.
  validatorUrl: null,
  persistAuthorization: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});

export {};
