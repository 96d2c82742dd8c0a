# syntax=docker/dockerfile:1
# duckmirror in a container: built in one stage, run in another without compiler, sources or root.

# A tag can move: build a release with the digest (`npm run release` prints the command).
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json LICENSE ./
# No install script of any dependency is needed (docs/decisions/dependencies.md).
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json build.mjs ./
COPY src ./src
COPY jobs ./jobs
COPY sql ./sql
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    DUCKMIRROR_DATA_DIR=/data \
    DUCKMIRROR_LOG_FORMAT=json
WORKDIR /app
RUN mkdir /data && chown node:node /data
# They belong to root: the program cannot change itself.
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
USER node
VOLUME /data
EXPOSE 8737
# The worker answers /healthz on its listen address; other commands end by themselves before the first check.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8737/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# SIGTERM reaches node itself: it finishes the page, commits and closes.
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["worker"]
