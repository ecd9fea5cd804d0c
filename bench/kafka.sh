#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev bench kafka [--quick] [--players N] [--seconds S] [--rounds N] [--only speed,latency,reads,join]: servers that share a log
# on Kafka, beside the log of their own and a bare librdkafka program, in the same run. Writes its part of docs/benchmarks.md.
# needs: java=default-jre-headless mvn=maven
set -euo pipefail
exec python3 "$(dirname "$0")/kafka_bench.py" --write "$@"
