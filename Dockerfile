# The product as an image: `docker build --tag workflow-platform --build-arg BUILD_REVISION=$(git rev-parse HEAD) .`
# Node runs the sources as they are; the Console alone is built. tests/e2e/operations/image.test.ts runs these steps.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# The image has Node: the package that brings it for `npm start` is left out.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/node-linux-* node_modules/.bin/node
RUN mkdir -m 700 /data

FROM node:24-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json tsconfig.json ./
COPY client client
COPY console console
RUN npm ci --workspace console --ignore-scripts --no-audit --no-fund && npm run console:build

FROM node:24-bookworm-slim
ARG BUILD_REVISION=
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data BUILD_REVISION=$BUILD_REVISION MALLOC_ARENA_MAX=4
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY api api
COPY application application
COPY domain domain
COPY infrastructure infrastructure
COPY projections projections
COPY --from=console /app/console/dist console/dist
COPY --from=packages --chown=node:node /data /data
USER node
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--expose-gc", "--max-old-space-size=2000", "--max-semi-space-size=16", "--v8-pool-size=1", "api/start.js"]
