-- What the service calls each of its answers (meta.requestId) and its interface (meta.apiVersion): support tickets need it.
-- request_id is duckmirror's own name of the request, under which its answer is archived.
ALTER TABLE sync.requests ADD COLUMN service_request_id VARCHAR;
ALTER TABLE sync.requests ADD COLUMN api_version VARCHAR;
