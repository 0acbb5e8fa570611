# The embedded default in one image: the program, ONNX Runtime and the models. Only the data folder is a volume.

FROM rust:1.95-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 python3-venv default-jre-headless maven nodejs npm \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# The models change less often than the code: their layer is kept.
COPY scripts scripts
RUN RECOLLECT_MODELS=/models scripts/fetch-models
COPY . .
RUN scripts/build-web && cargo build --release --locked

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 --create-home recollect \
    && install -d -o recollect -g recollect /data
COPY --from=build /models /models
COPY --from=build /src/target/release/recollect /usr/local/bin/recollect
COPY samples /usr/local/share/recollect/samples
ENV RECOLLECT_MODELS=/models RECOLLECT_DATA__DIR=/data RECOLLECT_SERVER__LISTEN=0.0.0.0:7979
USER recollect
VOLUME /data
EXPOSE 7979
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["recollect", "healthcheck", "--url", "http://127.0.0.1:7979"]
ENTRYPOINT ["recollect"]
CMD ["serve"]
