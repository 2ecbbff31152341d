#!/bin/sh
# A member of a group with kcat, which writes its records to nowhere and its messages to its log.
[ "$LEVEL" = trouble ] && debug="-X debug=cgrp"
exec kcat -b "$BOOTSTRAP" -G "$GROUP" -X client.id="$CLIENT" -X session.timeout.ms="$SESSION_MS" \
    -X heartbeat.interval.ms="$HEARTBEAT_MS" -X auto.offset.reset=earliest $debug -o beginning "$TOPIC" >/dev/null
