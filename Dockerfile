# docker build -t apexmap . && docker run --rm -v "$PWD:/work" apexmap run
FROM rust:1.95-slim-bookworm AS build
COPY . /apexmap
WORKDIR /apexmap
RUN cargo build --release --locked && strip target/release/apexmap

FROM debian:bookworm-slim
COPY --from=build /apexmap/target/release/apexmap /usr/local/bin/apexmap
# Results are in the folder that is mounted here.
WORKDIR /work
ENTRYPOINT ["apexmap"]
