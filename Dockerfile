# headgate in a container: the product and its production dependencies, as a user of its own, under an init.
#   docker build -t headgate .
#   docker run -p 127.0.0.1:8080:8080 -v ./my-gateway:/config:ro -v headgate-state:/state headgate
# The configuration says `state: { path: /state }` and listens on 0.0.0.0. No Alpine: the native parts need glibc.

FROM node:24-trixie-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --ignore-scripts && npm run build && npm prune --omit=dev --ignore-scripts && node dist/cli/slim.js && rm -rf dist/bench dist/packaging

FROM node:24-trixie-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap tini util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --home-dir /home/headgate --no-create-home --shell /usr/sbin/nologin headgate \
 && install -d -o headgate -m 0700 /state \
 && ln -s /app/dist/cli/main.js /usr/local/bin/headgate
COPY --from=build /app/package.json /app/LICENSE /app/
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/plugins /app/plugins
COPY --from=build --chmod=755 /app/dist /app/dist
USER 10001
ENV HEADGATE_CONFIG=/config NODE_ENV=production
VOLUME /state
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["headgate", "status", "--quiet"]
ENTRYPOINT ["tini", "--", "headgate"]
CMD ["start", "--grace", "30s"]
