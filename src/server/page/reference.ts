// The rendered API reference: Swagger UI over this server's own OpenAPI document.

declare global {
  interface Window {
    readonly SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => unknown;
  }
}

window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  // Nothing leaves this machine: no validator of somebody else, no remembered key.
  validatorUrl: null,
  persistAuthorization: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
});

export {};
