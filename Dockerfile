# syntax=docker/dockerfile:1
# One image, one program: docker build --tag placet .
FROM rust:1.95-bookworm AS build
WORKDIR /placet
COPY . .
# The builder keeps the files that cargo has downloaded and compiled, so that an edit compiles only the parts it touched.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/placet/target \
    cargo build --locked --profile dist --package placet-server --bin placet \
    && cp target/dist/placet /usr/local/bin/placet

FROM debian:bookworm-slim
# The certificates by which mail servers, webhooks and databases are recognised.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/placet --create-home --shell /usr/sbin/nologin placet
COPY --from=build /usr/local/bin/placet /usr/local/bin/placet
USER 10001:10001
WORKDIR /var/lib/placet
VOLUME /var/lib/placet
# The database stays in its default place, the working folder. A variable here would override the settings file of the person
# who runs the image.
ENV PLACET_LISTEN=0.0.0.0:7420
EXPOSE 7420
# The server is ready when the database takes a write and deadlines may take effect. The image has no curl; bash speaks enough HTTP.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7420 && printf 'GET /readyz HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [[ $status == 200 ]]"]
ENTRYPOINT ["placet"]
CMD ["serve"]
