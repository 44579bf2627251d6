# The image that Dockerfile, agent.yaml and init-container.yaml name: kernstash, a shell, timeout(1), and the
# certificates of the authorities, without which rediss://, https:// and s3:// are refused. `make dist` makes the archive:
#
#   tar -xzf kernstash-0.1.0-linux-amd64.tar.gz
#   docker build -f kernstash.Dockerfile -t registry.example.com/kernstash:1 kernstash-0.1.0-linux-amd64
ARG BASE=debian:12-slim
FROM ${BASE}
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY . /usr/local/
RUN kernstash version
ENTRYPOINT ["kernstash"]
