# The executable, and the C libraries and plain shell that the PostgreSQL inside it needs.
#   docker build -t walletscope . && docker run --init -p 8080:8080 -p 127.0.0.1:8081:8081 -v walletscope:/data walletscope

# Any Debian-like image with Node and npm; its C libraries go into the final image.
ARG BUILD_IMAGE=docker.io/library/node:22-bookworm-slim

FROM ${BUILD_IMAGE} AS build
WORKDIR /source
COPY package.json bun.lock bunfig.toml tsconfig.json LICENSE ./
RUN npx --yes bun@1.4.5 install --frozen-lockfile --production
COPY .ci/build.ts .ci/
COPY .ci/notices .ci/notices
COPY sql sql
COPY src src
RUN npx --yes bun@1.4.5 .ci/build.ts
# What is in the image, as CycloneDX: scanners find it beside the licences.
RUN dpkg-query --show --showformat '${Package} ${Version}\n' libc6 libstdc++6 libgcc-s1 dash coreutils > dist/debian.txt && \
    npx --yes bun@1.4.5 .ci/notices/sbom.ts dist/debian.txt > dist/sbom.cdx.json

# The root of the final image, with the licences of all that is in it. `initdb` and the watchdog of the server need the
# shell and `cat`; with `env` the health check has the executable itself run a line of JavaScript.
RUN set -eu; \
    install -D -m 0755 dist/walletscope /image/usr/local/bin/walletscope; \
    for program in dist/walletscope /bin/sh /usr/bin/cat /usr/bin/env; do \
      ldd "$program" | grep -o '/[^ ]*'; \
    done | sort -u | xargs -r cp -L --parents -t /image; \
    for name in libpthread librt libdl libm libstdc++ libgcc_s; do \
      ldconfig -p | grep -F "$name.so" | grep -o '/.*' | head -n 1; \
    done | xargs -r cp -L --parents -t /image; \
    install -D -m 0755 -t /image/usr/bin /usr/bin/cat /usr/bin/env; \
    install -D -m 0755 -t /image/bin /bin/sh; \
    install -D -m 0644 dist/licenses.notices /image/usr/share/doc/walletscope/copyright; \
    install -D -m 0644 dist/sbom.cdx.json /image/usr/share/doc/walletscope/sbom.cdx.json; \
    for package in libc6 libstdc++6 libgcc-s1 dash coreutils; do \
      cp -L --parents -t /image "/usr/share/doc/$package/copyright"; \
    done; \
    cp -rL --parents -t /image /usr/share/common-licenses; \
    install -d -m 0755 /image/etc; \
    echo 'root:x:0:0::/:/sbin/nologin' > /image/etc/passwd; \
    echo 'walletscope:x:65532:65532::/data:/sbin/nologin' >> /image/etc/passwd; \
    echo 'walletscope:x:65532:' > /image/etc/group; \
    echo 'hosts: files dns' > /image/etc/nsswitch.conf; \
    install -d -m 1777 /image/tmp; \
    install -d -m 0700 -o 65532 -g 65532 /image/data

FROM scratch
# The commit that is built, if the builder tells: --build-arg REVISION="$(git rev-parse HEAD)"
ARG REVISION=
LABEL org.opencontainers.image.title="walletscope" \
      org.opencontainers.image.description="What does this wallet hold, earn, owe and risk? On-chain positions over HTTP, self-hosted, in one executable." \
      org.opencontainers.image.version="0.8.0" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image /
USER 65532:65532
# What is the operator's has a port of its own, which need not be published.
ENV HOST=0.0.0.0 PORT=8080 OPERATOR_PORT=8081 DATA_DIR=/data
VOLUME /data
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["/usr/bin/env", "BUN_BE_BUN=1", "/usr/local/bin/walletscope", "-e", \
       "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/local/bin/walletscope"]
CMD ["serve"]
